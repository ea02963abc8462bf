"""The cases of tests/cases/patches, asked of us and of kubectl's own library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import throwaway

from dibs.api.patches import strategic
from dibs.api.patches.refused import Refused
from dibs.api.schema import reading

CASES = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "patches" / "strategic.yaml").read_text()
)
# What kubectl's types don't know they drop; what comes twice they leave to chance; what is of a
# wrong type they pass over.
_OURS = ("unknown", "opaque", "another type", "deleted and added", "no mapping", "deletions that")
SHARED = [case for case in CASES if not any(word in case["name"] for word in _OURS)]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def _head(case: dict[str, Any]) -> tuple[str, str]:
    version, _, kind = case["kind"].rpartition("/")
    return version, kind


@each_case
def test_case(case: dict[str, Any]) -> None:
    record = reading.record_of(*_head(case))
    assert record is not None
    given = json.dumps(case["given"])
    tree = json.loads(given)
    patch = json.dumps(case["patch"])
    asked = json.loads(patch)
    if "refused" in case:
        with pytest.raises(Refused) as refused:
            strategic.strategic(tree, asked, record)
        assert case["refused"] in refused.value.message
        assert refused.value.code in (400, 422)
    else:
        assert strategic.strategic(tree, asked, record) == case["then"]
    # Neither is changed: the same patch may be tried again.
    assert json.dumps(tree) == given
    assert json.dumps(asked) == patch


@pytest.mark.skipif(throwaway.KUBECTL is None, reason="no kubectl")
@pytest.mark.slow
@pytest.mark.parametrize("case", SHARED, ids=lambda case: case["name"])
def test_kubectl_agrees(case: dict[str, Any], tmp_path: Path) -> None:
    version, kind = _head(case)
    metadata = {"name": "x", "namespace": "default", **case["given"].get("metadata", {})}
    tree = {**case["given"], "apiVersion": version, "kind": kind, "metadata": metadata}
    file = tmp_path / "object.json"
    file.write_text(json.dumps(tree))
    done = throwaway.kubectl(
        None, tmp_path, "patch", "--local", "-f", str(file), "--type=strategic",
        "-p", json.dumps(case["patch"]), "-o", "json",
    )  # fmt: skip
    if "refused" in case:
        assert done.returncode != 0
        return
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    shown.pop("apiVersion"), shown.pop("kind")
    then = {**case["then"], "metadata": {"name": "x", "namespace": "default",
                                         **case["then"].get("metadata", {})}}  # fmt: skip
    assert _plain(shown) == _plain(then)


def _plain(tree: Any) -> Any:
    """Without what Go's types add of themselves."""
    match tree:
        case dict():
            values = {name: _plain(value) for name, value in tree.items()}
            return {name: value for name, value in values.items() if value not in (None, {}, "")}
        case list():
            return [_plain(item) for item in tree]
        case _:
            return tree
