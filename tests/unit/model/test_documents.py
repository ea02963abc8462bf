"""Documents are cut, read and found again, in YAML and JSON, small and large."""

from __future__ import annotations

import json
import re

import pytest

from dibs.client import writing
from dibs.model import documents, yaml_dump, yaml_reader
from dibs.model.documents import Document
from dibs.model.faults import FaultKind
from dibs.values.mistake import Mistake


def one(text: str) -> Document:
    (document,) = documents.parse(text.encode()).documents
    return document


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ("", []),
        ("# nothing\n---\n\n---\n", []),
        ("null\n", []),
        ("a: 1\n---\nb: 2\n", [({"a": 1}, 1), ({"b": 2}, 2)]),
        ("---\na: 1\n--- # remark\nb: 2\n...\n", [({"a": 1}, 1), ({"b": 2}, 3)]),
        ("%YAML 1.2\n---\na: 1\n", [({"a": 1}, 2)]),
        ("--- {a: 1}\n---\t\nb: 2", [({"a": 1}, 1), ({"b": 2}, 2)]),
        ("a: |\n  ---\n  x\nb: ---x\n", [({"a": "---\nx\n", "b": "---x"}, 1)]),
        ("a: 1\r\n---\r\nb: 2\r\n", [({"a": 1}, 1), ({"b": 2}, 2)]),
        ("\ufeffa: 1\n", [({"a": 1}, 1)]),
        ('{"a": 1}{"b": 2}\n\n{"c": 3}', [({"a": 1}, 1), ({"b": 2}, 1), ({"c": 3}, 3)]),
        ("{a: 1, # remark\n}\n", [({"a": 1}, 1)]),
        ('{"a": "\\ud800x"}', [({"a": "\ufffdx"}, 1)]),
    ],
)
def test_texts_are_cut_into_documents(text: str, trees: list[tuple[object, int]]) -> None:
    parsed = documents.parse(text.encode())
    assert not parsed.faults
    assert [(document.tree, document.line) for document in parsed.documents] == trees


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a: 1".encode("utf-16"), "the text is encoded in UTF-16"),
        (b"\x1f\x8b\x08", "compressed with gzip"),
        (b"a: 1\nb: \0", "2:4: not a manifest but binary: byte 9 is NUL"),
        (b"a: 1\nb: \xe9", "2:4: byte 9 (0xe9) is not UTF-8"),
    ],
)
def test_what_is_no_text_is_a_mistake(content: bytes, says: str) -> None:
    with pytest.raises(Mistake) as caught:
        documents.parse(content)
    assert str(caught.value).startswith(says)
    assert caught.value.remedy


YAML = """\
# a remark
kind: X
spec:
  devices:
  - name: a
    attributes:
      dra.net/mtu.x: {int: 5}
  -   name: b
      "quoted key": |
        text
"""


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("", (2, 1), (2, 1)),
        ("kind", (2, 1), (2, 7)),
        ("spec.devices", (3 + 1, 3), (5, 3)),
        ("spec.devices[0]", (5, 5), (5, 5)),
        ("spec.devices[0].attributes[dra.net/mtu.x].int", (7, 23), (7, 28)),
        ("spec.devices[1].name", (8, 7), (8, 13)),
        ("spec.devices[1][quoted key]", (9, 7), (9, 21)),
        ("spec.devices[1].missing.deeper", (8, 7), (8, 7)),
        ("spec.devices[7]", (4, 3), (5, 3)),
        ("nonsense[[", (2, 1), (2, 1)),
    ],
)
def test_places_in_yaml(path: str, key: tuple[int, int], value: tuple[int, int]) -> None:
    document = one(YAML)
    assert document.position(path) == key
    assert document.value_position(path) == value


def test_places_in_json() -> None:
    first = '{"a": {"b": 1}} '
    text = first + '{"a": {"x\\"y": [1,\n  {"k": "v"}]}}'
    second = documents.parse(text.encode()).documents[1]
    assert second.position("") == (1, len(first) + 1)
    assert second.position('a[x"y]') == (1, len(first) + 8)
    assert second.position('a[x"y][1].k') == (2, 4)
    assert second.value_position('a[x"y][1].k') == (2, 9)


def test_places_count_from_the_top_of_the_file() -> None:
    first, second = documents.parse(b"a: 1\n---\n# remark\nb:\n  c: 2\n").documents
    assert first.position("a") == (1, 1)
    assert second.position("b.c") == (5, 3)


def list_of(count: int) -> dict[str, object]:
    items = [
        {"name": f"n{at}", "on": True, "text": "a && b\n---x\n- c\n", "list": [{"deep": at}, "x"]}
        for at in range(count)
    ]
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"list": ["- a"]}}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["block", "indented", "flow", "json"])
def test_places_in_a_large_list(form: str) -> None:
    tree = list_of(2000)
    text = writing.yaml_text([tree])
    if form == "indented":
        text = re.sub(r"^(- |  )", r"  \1", text, flags=re.MULTILINE)
    if form == "json" or form == "flow":
        text = json.dumps(tree, indent=2)
    if form == "flow":
        text = "# not JSON\n" + text
    assert len(text) > 128 * 1024
    document = one(text)
    lines = text.split("\n")
    for at in (0, 1, 1234, 1999):
        line, column = document.position(f"items[{at}].list[0].deep")
        assert lines[line - 1][column - 1 :].replace('"', "") == f"deep: {at}"
        line, column = document.position(f"items[{at}].name")
        assert f"n{at}" in lines[line - 1]
    line, column = document.position("metadata.list[0]")
    assert "- a" in lines[line - 1]


@pytest.mark.slow
def test_an_anchor_of_another_item_does_not_confuse_places() -> None:
    text = writing.yaml_text([list_of(2000)])
    text = text.replace("name: n0\n", "name: &x n0\n").replace("name: n7\n", "name: *x\n")
    assert one(text).position("items[7].name").line == one(text).position("items[7]").line + 3


@pytest.mark.skipif(yaml_dump.ryml is None, reason="rapidyaml is not installed")
@pytest.mark.parametrize(
    "line",
    [
        "a: yes", "a: Off", "a: ~", "a: 0x10", "a: 017", "a: 1_000", "a: 1e3", "a: .5",
        "a: 1.0", "a: +1", "a: -0", "a: 12345678901234567", "a: y", "- N", "y: 1", "on: 1",
        "1: a", "true: b", "<<: {a: b}", "a: &x 1", "&x a: 1", "a: *x", "a: !!str 1",
        "!!str a: 1", "a: {b: c}", "a: [b]", "? a", "a: @b", "a: |2", "a: > # remark", "a: - b",
        "a:\tb", "a: 'b'\r", "a: \"\\x41\"", "a: \"\\ud800\"", "a: b\u007f", "a: b\u2028c",
        "a: .inf", "a: # remark",
    ],
)  # fmt: skip
def test_what_yaml_readers_differ_on_is_read_with_care(line: str) -> None:
    with pytest.raises(ValueError, match="not as kubectl prints it"):
        yaml_dump.read(f"b: 1\n{line}\nc: 1\n")


@pytest.mark.skipif(yaml_dump.ryml is None, reason="rapidyaml is not installed")
def test_what_kubectl_prints_is_read_fast() -> None:
    text = writing.yaml_text([list_of(3)])
    text += (
        'empty: {}\nnone: []\nwords: "yes"\nip: 10.0.0.1\ntime: 2026-01-01T00:00:00Z\nnull_: null\n'
    )
    text += "rest: a && b ||\n  && c\nblock: |-\n  && d\n  yes it is\nhalf: 0.5\nfalse_: false\n"
    assert yaml_dump.read(text) == yaml_reader.read(text).tree


@pytest.mark.slow
@pytest.mark.skipif(yaml_dump.ryml is None, reason="rapidyaml is not installed")
def test_faults_of_large_texts_are_told_once_and_by_us(capfd: pytest.CaptureFixture[str]) -> None:
    text = writing.yaml_text([list_of(2000)]) + "a: [1,\n"
    (fault,) = documents.parse(text.encode()).faults
    assert fault.line == text.count("\n") + 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_key_twice_in_a_large_text_is_seen() -> None:
    text = writing.yaml_text([list_of(2000)])
    (fault,) = one(text + "kind: List\n").faults
    assert "stands twice" in fault.message
    tree = json.dumps(list_of(2000))[:-1] + ', "kind": "List"}'
    (fault,) = one(tree).faults
    assert "stands twice" in fault.message


def test_too_many_documents_are_counted_before_any_is_read() -> None:
    text = "a: 1\n---\n" * (documents.MAX_DOCUMENTS + 1)
    with pytest.raises(Mistake) as caught:
        documents.parse(text.encode(), tick=lambda done: pytest.fail("one was read"))
    assert "more than 100000 documents" in caught.value.message
    assert caught.value.path == f"{2 * (documents.MAX_DOCUMENTS + 1)}:1"


def test_broken_documents_are_given_up_after_a_thousand() -> None:
    *listed, last = documents.parse(b"a: [\n---\n" * 1200).faults
    assert len(listed) == 1000
    assert last.kind is FaultKind.GIVEN_UP
    assert last.line == 2000


def test_a_mapping_of_repeated_keys_is_given_up() -> None:
    (fault,) = documents.parse(b"a: 1\n" * 5000).faults
    assert "more than 1000 keys" in fault.message
    assert fault.line == 1002
