"""Bare words of YAML as `kubectl annotate --local -o json` prints them, and the exception."""

from __future__ import annotations

import pytest

from dibs.model import scalars

KUBECTL = {
    "yes": True, "on": True, "True": True, "off": False, "NO": False, "FALSE": False,
    "": None, "~": None, "Null": None,
    "0o17": 15, "017": 15, "-017": -15, "0x10": 16, "0x1_0": 16, "0b11": 3, "1_000": 1000,
    "1__0": 10,
    "08_9": 89, "089": 89, "+1": 1, "-0": 0, "18446744073709551615": 18446744073709551615,
    "1e3": 1000, "5.": 5, "1.0": 1, "-0.0": 0, ".5": 0.5, "+.5": 0.5, "0.1": 0.1, "1e25": 1e25,
    "1e400": "1e400", "._5": "._5", "+": "+", "-": "-", ".": ".", "1:30": "1:30", "1.2.3": "1.2.3",
    "2026-01-01": "2026-01-01", "2026-01-01T00:00:00Z": "2026-01-01T00:00:00Z", "40Gi": "40Gi",
    "tRUE": "tRUE", "nULL": "nULL", "0x": "0x", "0b2": "0b2", "1e": "1e", "truly": "truly",
}  # fmt: skip


@pytest.mark.parametrize("word", KUBECTL)
def test_words_mean_what_they_mean_to_kubectl(word: str) -> None:
    value = scalars.plain(word)
    assert value == KUBECTL[word]
    assert type(value) is type(KUBECTL[word])


@pytest.mark.parametrize("word", ["y", "Y", "n", "N"])
def test_single_letters_are_text_and_written_with_quotes(word: str) -> None:
    assert scalars.plain(word) == word
    assert not scalars.is_text(word)


@pytest.mark.parametrize("word", [".inf", "-.INF", ".nan", "9" * 1001])
def test_what_json_cannot_hold_is_no_value(word: str) -> None:
    with pytest.raises(scalars.Unresolvable):
        scalars.plain(word)


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("1", "str", "1"),
        ("yes", "bool", True),
        ("0x10", "int", 16),
        ("1", "float", 1),
        ("~", "null", None),
        ("aGVsbG8=", "binary", "hello"),
        ("2026-01-01", "timestamp", "2026-01-01"),
    ],
)
def test_tags(text: str, tag: str, value: object) -> None:
    assert scalars.tagged(text, f"tag:yaml.org,2002:{tag}") == value


def test_unknown_tags_make_text() -> None:
    assert scalars.tagged("2", "!foo") == "2"


@pytest.mark.parametrize(
    ("text", "tag"), [("x", "int"), ("1.5", "int"), ("1", "null"), ("1", "bool"), ("?", "binary")]
)
def test_tags_that_do_not_fit(text: str, tag: str) -> None:
    with pytest.raises(scalars.Unresolvable):
        scalars.tagged(text, f"tag:yaml.org,2002:{tag}")


@pytest.mark.parametrize(
    ("bare", "key"),
    [("on", "true"), ("off", "false"), ("0x10", "16"), ("1.5", "1.5"), ("a", "a"), ("y", "y")],
)
def test_keys_become_text(bare: str, key: str) -> None:
    assert scalars.key(bare) == key
