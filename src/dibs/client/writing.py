"""Objects as YAML or JSON text, the way kubectl prints them.

Keys are sorted; whatever a reader of YAML 1.1 or 1.2 could take for something else than text is
quoted, so the text reads back as it was, here and in kubectl.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from dibs.model import codec, scalars
from dibs.model.kinds import Known


def text(objects: Sequence[Known], output: str, version: str = "") -> str:
    """Return "yaml" (several documents) or "json" (a List when not exactly one)."""
    trees = [codec.encode(item, version) for item in objects]
    if output == "yaml":
        return yaml_text(trees)
    assert output == "json", f"no such output: {output}"
    tree = trees[0] if len(trees) == 1 else {"apiVersion": "v1", "kind": "List", "items": trees}
    return msgspec.json.format(msgspec.json.encode(tree, order="sorted"), indent=4).decode() + "\n"


def yaml_text(trees: Sequence[object]) -> str:
    """Return plain trees as YAML, one document each."""
    dumped: str = yaml.dump_all(
        trees, Dumper=_Dumper, allow_unicode=True, width=_NEVER_FOLD, sort_keys=True
    )
    return dumped


_NEVER_FOLD = 2**31 - 1


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        # Equal parts are written out: kubectl's users know no anchors.
        return True


def _written_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value and not value.startswith((" ", "\n")):
        style = "|"
    elif not scalars.is_text(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _written_text)
