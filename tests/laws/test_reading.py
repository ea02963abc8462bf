"""Whatever is read: faults or a Mistake, never another exception; and both YAML readers agree."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dibs.client import dump, writing
from dibs.client.dump import Loaded
from dibs.model import codec, documents, json_reader, kinds, yaml_dump, yaml_reader
from dibs.model.faults import FaultKind
from dibs.values.mistake import Mistake

pytestmark = pytest.mark.slow

# Pieces of YAML and JSON that matter; put together at random they are nearly documents.
PIECES = (
    ": ", "- ", "\n", "  ", '"', "'", "|", ">-", "[", "]", "{", "}", "&a", "*a", "#", "? ", "\t",
    "!!str ", "---", "...", "%", "\0", "\x85", "<<: ", ",", "\r", "\\x", "\\ud800", "a", "y", "on",
    "1e3", "0x1", "\ufeff", "é", "😀", "null", "~", ".nan", "kind", "spec", "items", "apiVersion",
    "resource.k8s.io/v1", "ResourceClaim", "List",
)  # fmt: skip
SPOILED = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(("", "a", "40Gi", "40GB", "true", "1", "resource.k8s.io/v1", "\ud800"))
    | st.text(max_size=5)
)
# Names that steer deep into the shapes of the API.
NAMES = st.sampled_from(
    (
        "metadata", "name", "namespace", "labels", "spec", "devices", "requests", "exactly",
        "allocation", "basic",
        "firstAvailable", "selectors", "cel", "expression", "count", "capacity", "attributes", "a",
        "status", "results", "containers", "resources", "claims", "limits", "rest",
        "resourceClaims", "source", "items", "taints", "pool", "nodeName", "conditions", "config",
    )
)  # fmt: skip
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)
HEADS = st.sampled_from(
    [(kind.api_version(version), kind.name) for kind in kinds.KINDS for version in kind.versions]
    + [("v1", "List"), ("v1", "PodList"), ("resource.k8s.io/v1alpha2", "ResourceSlice")]
)


def load(content: bytes) -> Loaded:
    return dump.load(["-"], stdin=io.BytesIO(content))


@given(st.binary(max_size=200) | SPOILED.map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b'{"a": "\\ud800"}')
@example(b"a: &a [*a]")
@example(b"[" * 10_000)
@example(b'{"a":' * 10_000)
@example(b"- " * 10_000)
def test_any_bytes_give_objects_faults_or_a_mistake(content: bytes) -> None:
    try:
        loaded = load(content)
    except Mistake:
        return
    for fault in loaded.faults:
        assert fault.message
        assert fault.line >= 1
        assert fault.column >= 1
        # What is printed must be printable.
        str(fault).encode()


@given(HEADS, st.dictionaries(NAMES, TREES, max_size=4))
def test_any_tree_gives_an_object_and_faults(
    head: tuple[str, str], body: dict[str, object]
) -> None:
    tree = {"apiVersion": head[0], "kind": head[1], **body}
    decoded = codec.decode(tree)
    assert decoded.object is not None or decoded.faults or decoded.is_foreign
    for fault in decoded.faults:
        assert fault.path or fault.kind in (FaultKind.KIND, FaultKind.VERSION)
        str(fault)


@given(HEADS, st.dictionaries(NAMES, TREES, max_size=4))
def test_what_was_made_of_a_faulty_tree_is_sound(
    head: tuple[str, str], body: dict[str, object]
) -> None:
    item = codec.decode({"apiVersion": head[0], "kind": head[1], **body}).object
    if item is not None:
        again = codec.decode(codec.encode(item))
        assert again.object == item
        assert not again.faults


@given(st.lists(st.dictionaries(NAMES, TREES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_every_entry_is_found_again(trees: list[dict[str, object]]) -> None:
    """Line and column of each entry, for YAML as we write it and for JSON."""
    trees = json.loads(json.dumps(trees, ensure_ascii=False).encode("utf-8", "replace"))
    yaml_text = writing.yaml_text(trees)
    json_text = "".join(json.dumps(tree, indent=2, ensure_ascii=False) + "\n" for tree in trees)
    for text in (yaml_text, json_text):
        parsed = documents.parse(text.encode())
        assert not [fault for fault in parsed.faults if fault.kind is FaultKind.SYNTAX]
        lines = text.split("\n")
        for document in parsed.documents:
            assert isinstance(document.tree, dict)
            for key in document.tree:
                line, column = document.position(key)
                assert lines[line - 1][column - 1 :].lstrip("\"'").startswith(key)


LINES = st.sampled_from(
    (
        "a: b", "- a", "  b: 1", "- c: d", "  - e", "f:", "g: |", "    two", "h: >-", "i: 'x y'",
        'j: "a\\nb"', "k: []", "l: {}", "m: 1.5", "n: true", "# remark", "", "o: a b: c", "'q': r",
        "  s: null", "t: 2026-01-01", "u: 10.0.0.1/8", "v: x#y", "w: [a]", "&x y: z", "- - a",
    )
)  # fmt: skip


@pytest.mark.skipif(yaml_dump.ryml is None, reason="rapidyaml is not installed")
@given(st.lists(LINES, min_size=1, max_size=12).map(lambda lines: "\n".join(lines) + "\n"))
def test_the_fast_yaml_reader_agrees_with_the_careful_one(text: str) -> None:
    try:
        tree = yaml_dump.read(text)
    except ValueError:
        return
    try:
        careful = repr(yaml_reader.read(text).tree)
    except yaml_reader.Unreadable as fault:
        careful = fault.message
    # rapidyaml lets pass some lists that are indented too little: designs/001.
    assert careful == repr(tree) or "did not find expected key" in careful


@given(TREES)
def test_a_survey_of_json_knows_every_entry(tree: object) -> None:
    text = json.dumps(tree)
    expected = set(_steps(tree, ()))
    assert set(json_reader.survey(text).places) == expected


def _steps(tree: object, above: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    found = [above]
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += _steps(value, (*above, key))
    if isinstance(tree, list):
        for index, value in enumerate(tree):
            found += _steps(value, (*above, index))
    return found


def test_spoiled_real_files(shared: Path) -> None:
    """Files of real drivers with a few characters changed."""
    chance = random.Random(1)
    texts = [path.read_text() for path in sorted((shared / "slices").glob("*.yaml"))]
    for _ in range(150):
        text = chance.choice(texts)[:3000]
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(PIECES) + text[at + chance.randint(0, 3) :]
        try:
            loaded = load(text.encode("utf-8", "surrogatepass"))
        except Mistake:
            continue
        assert loaded.entries or loaded.faults or loaded.skipped
