"""What a cluster serves, asked of it: the names that people use → the paths that requests go to.

Source: aggregated discovery (apidiscovery.k8s.io/v2), with the rules by which kubectl resolves
names: plural, singular, short name or kind, with or without the group behind a dot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dibs.client.http import Http
from dibs.values import nearest
from dibs.values.mistake import Mistake

ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)


# What people call them, and what all other commands of dibs take.
ALIASES = {
    **dict.fromkeys(("claim", "claims"), "resourceclaims"),
    **dict.fromkeys(("slice", "slices"), "resourceslices"),
    **dict.fromkeys(("class", "classes"), "deviceclasses"),
    **dict.fromkeys(("template", "templates"), "resourceclaimtemplates"),
}


@dataclass(frozen=True, slots=True)
class Served:
    """One resource in the version that the cluster prefers."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    names: frozenset[str]
    categories: frozenset[str]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def called(self, name: str) -> str:
        """As kubectl calls an object: `resourceclaim.resource.k8s.io/train`, `pod/train-0`."""
        return f"{self.singular}/{name}"

    @property
    def singular(self) -> str:
        return self.kind.lower() + (f".{self.group}" if self.group else "")

    def path(self, namespace: str = "", name: str = "") -> str:
        """`namespace` is "" for all of them, or for what has none."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{inside}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(frozen=True, slots=True)
class Catalog:
    resources: tuple[Served, ...]

    def named(self, name: str) -> tuple[Served, ...]:
        """The resource of a name, or all of a category. Raises Mistake for a name of nothing."""
        wanted, _, group = ALIASES.get(name.lower(), name.lower()).partition(".")
        found = [
            each
            for each in self.resources
            if wanted in each.names and (not group or each.group == group)
        ]
        if found:
            return (found[0],)
        several = tuple(each for each in self.resources if wanted in each.categories)
        if several:
            return several
        known = {each for one in self.resources for each in one.names}
        raise Mistake(
            "the cluster serves nothing of that name",
            path=name,
            value=name,
            remedy=nearest.question(wanted, known) or "dibs get --help has examples",
        )

    def of(self, tree: Mapping[str, Any]) -> Served:
        """The resource of an object, by what it says it is. Raises Mistake."""
        version, kind = str(tree.get("apiVersion", "")), str(tree.get("kind", ""))
        for each in self.resources:
            group = each.group
            if each.kind == kind and version.rpartition("/")[0] == group:
                asked = version.rpartition("/")[2]
                return Served(
                    group, asked, each.plural, kind, each.namespaced, each.names, each.categories
                )
        name = (tree.get("metadata") or {}).get("name", "")
        raise Mistake(
            f"the cluster serves no {version} {kind}", path=f"{kind} {name}", value=version
        )


async def read(cluster: Http) -> Catalog:
    """Ask the cluster. Raises the exceptions of `cluster`."""
    found: list[Served] = []
    for root in ("/api", "/apis"):
        tree = await cluster.fetch("GET", root, accept=ACCEPT)
        for group in tree.get("items") or ():
            found += _of_group(group)
    return Catalog(tuple(found))


def _of_group(group: Mapping[str, Any]) -> Iterator[Served]:
    seen: set[str] = set()
    name = str((group.get("metadata") or {}).get("name") or "")
    # The first version of each resource is the preferred one.
    for version in group.get("versions") or ():
        for each in version.get("resources") or ():
            plural, kind = str(each["resource"]), str(each["responseKind"]["kind"])
            if plural in seen or not {"get", "create"} & set(each.get("verbs") or ()):
                continue
            seen.add(plural)
            singular = str(each.get("singularResource") or kind.lower())
            names = {plural, singular, kind.lower(), *(each.get("shortNames") or ())}
            yield Served(
                name,
                str(version["version"]),
                plural,
                kind,
                each.get("scope") == "Namespaced",
                frozenset(names),
                frozenset(each.get("categories") or ()),
            )
