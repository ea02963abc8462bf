"""Real kubectl, where it is installed, makes the same trees of YAML as we do, and of what we write.

`annotate --local` reads, changes and prints objects without any cluster.
"""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from dibs.client import writing
from dibs.model import documents, json_reader

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]

# Not here: a bare y or n, which differ on purpose; numbers beyond 64 bits, which kubectl rounds.
VALUES = (
    "yes", "on", "Off", "~", "null", "0x1F", "0o7", "07", "08", "1_0", "1e3", "1.5e-7", "1E5",
    ".5", "5.", "+5", "-5", "1.0", "0.1", "-.5", "1:20", "2026-01-01", "2026-01-01T00:00:00Z",
    "a", "a b", "'q'", "\"d\\n\\u00e9\"", "[a, b]", "{c: d}", "!!str 5", "!!int '5'",
    "!!float 5", "!foo z", "! 5", "|\n    lit\n     more\n", "|-\n    x\n", "|+\n    x\n\n",
    ">\n    f\n    g\n\n    h\n", ">-\n    f\n      g\n    h\n", "plain\n    multi\n    line",
    "'single\n    multi'", "# c\n    v", "\"dbl\\\n    cont\"", "&a x", "*b", "0b101", "1e",
    "0x", "?x", ":x", "x:y", "x#y", "x #y", "=", "<<", "1__2", "-0.0", "1e21", "1e20",
    "9007199254740993", "-9223372036854775808", "1e-7", "0.000001", "1.10", "é😀", "\"\\x41\"",
    "''", "", "[]", "{}", "[{a: 1}, [2]]", "!!binary aGk=", "1_000.5", "._", "..", "...x",
    "---x", "0o", "0b", "_1", "1_", "+.inf1",
)  # fmt: skip
KEYS = ("k", '"q"', "on", "1", "0x10", "1.5", "'d x'", "k.b/z", "? c\n  ")


def test_reading() -> None:
    chance = random.Random(1)
    texts = [_document(chance, index) for index in range(150)]
    ours = [document.tree for document in documents.parse("---\n".join(texts).encode()).documents]
    theirs = kubectl("---\n".join(texts))
    for text, our, their in zip(texts, ours, theirs, strict=True):
        assert isinstance(our, dict)
        assert our.get("spec") == their.get("spec"), text


def test_writing() -> None:
    chance = random.Random(2)
    words = [value.replace("\x07", "") for value in VALUES] + ["y", "N", "two\nlines", " a", "\nx"]
    trees = [
        {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "metadata": {"name": f"x{index}"},
            "spec": {chance.choice(words): chance.choice(words) for _ in range(8)},
        }
        for index in range(60)
    ]
    theirs = kubectl(writing.yaml_text(trees))
    assert [tree["spec"] for tree in trees] == [tree["spec"] for tree in theirs]


def _document(chance: random.Random, index: int) -> str:
    head = (
        f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: x{index}}}\nb: &b z\nspec:\n"
    )
    keys = chance.sample(KEYS, 4)
    return head + "".join(f"  {key}: {chance.choice(VALUES)}\n" for key in keys)


def kubectl(text: str) -> list[dict[str, object]]:
    command = ["kubectl", "annotate", "--local", "-f", "-", "example.com/a=b", "-o", "json"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = [value.tree for value in json_reader.values(done.stdout.decode())]
    return [tree for tree in found if isinstance(tree, dict)]
