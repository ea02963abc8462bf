"""Which of our forms of answer the client likes best, by its Accept header.

Source: RFC 9110, and Kubernetes' parameters `as`, `g`, `v` of a media type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dibs.api import failures
from dibs.api.discovery import AGGREGATED_VERSIONS

Form = Literal["object", "table", "partial", "discovery"]

JSON, YAML = "application/json", "application/yaml"
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Accepted:
    """`version` is that of the aggregated discovery; `type` what the answer's header says."""

    form: Form = "object"
    is_yaml: bool = False
    version: str = ""

    @property
    def type(self) -> str:
        if self.form == "discovery":
            return f"{JSON};g=apidiscovery.k8s.io;v={self.version};as=APIGroupDiscoveryList"
        return YAML if self.is_yaml else JSON


PLAIN = Accepted()


@lru_cache(maxsize=256)
def accepted(header: str) -> Accepted:
    """Return the first form that we have. Raises Failure (406) when there is none."""
    if not header or len(header) > _LONGEST:
        return PLAIN
    for media, parameters in _by_preference(header):
        if found := _form(media, parameters):
            return found
    raise failures.not_acceptable((JSON, YAML))


def _form(media: str, parameters: dict[str, str]) -> Accepted | None:
    if media not in (JSON, YAML, "*/*", "application/*"):
        return None
    is_yaml = media == YAML
    kind, group, version = (parameters.get(name, "") for name in ("as", "g", "v"))
    match kind:
        case "":
            return Accepted(is_yaml=is_yaml)
        case "Table" if group == "meta.k8s.io" and version in ("v1", "v1beta1"):
            return Accepted("table", is_yaml)
        case "PartialObjectMetadata" | "PartialObjectMetadataList" if group == "meta.k8s.io":
            return Accepted("partial", is_yaml)
        case "APIGroupDiscoveryList" if version in AGGREGATED_VERSIONS:
            return Accepted("discovery", version=version)
    return None


def _by_preference(header: str) -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[float, str, dict[str, str]]] = []
    for item in header.split(","):
        media, *rest = (part.strip() for part in item.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        found.append((_weight(parameters.pop("q", "1")), media.lower(), parameters))
    found.sort(key=lambda each: -each[0])
    return [(media, parameters) for weight, media, parameters in found if weight > 0]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
