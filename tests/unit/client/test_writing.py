"""What is printed reads back, and kubectl would read the same."""

from __future__ import annotations

import pytest
import yaml

from dibs.client import writing
from dibs.model import codec, documents
from dibs.model.core import Node
from dibs.model.meta import ObjectMeta

WORDS = (
    "yes", "y", "N", "on", "null", "~", "", "0x10", "017", "1e3", ".5", "1_000", "1:30", "12:30:45",
    "2026-01-01", "=", "<<", "- a", "a: b", "#", "a #b", " a", "a ", "@", "%", "|", "two\nlines",
    "two\nlines\n", "\nstart", " indented\nblock", "tab\there", "a\n\n", "ü", "\u2028",
    "\x07", "'", '"',
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_texts_survive(word: str) -> None:
    tree = {"a": word, word or "k": ["x", word]}
    text = writing.yaml_text([tree])
    parsed = documents.parse(text.encode())
    assert not parsed.faults
    assert [document.tree for document in parsed.documents] == [tree]
    # Another reader of YAML 1.1 agrees.
    assert yaml.safe_load(text) == tree


def test_nothing_is_folded_or_aliased() -> None:
    long = "word " * 100 + "end"
    same = {"b": [1]}
    text = writing.yaml_text([{"a": long, "x": same, "z": same}])
    assert f"a: {long}\n" in text
    assert "&" not in text


def test_json_is_one_object_or_a_list() -> None:
    first, second = (Node(metadata=ObjectMeta(name=name)) for name in "ab")
    (document,) = documents.parse(writing.text([first], "json").encode()).documents
    assert document.tree == codec.encode(first)
    (document,) = documents.parse(writing.text([first, second], "json").encode()).documents
    assert document.tree == {
        "apiVersion": "v1",
        "kind": "List",
        "items": [codec.encode(first), codec.encode(second)],
    }
