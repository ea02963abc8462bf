"""The fast way through large YAML as kubectl prints it: rapidyaml to JSON, msgspec to a tree.

Ten times as fast as `yaml_reader`, whose trees are the right ones. One search finds whatever is
unusual (anchors, tags, flow style, words and numbers that YAML versions read differently, odd
characters), and such a text is left to `yaml_reader`; so is one that rapidyaml does not take, as
faults are worded in one place. Figures and known differences: designs/001-dependencies.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import re2

from dibs.model import json_reader

try:
    import ryml  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # no wheel for this platform: slower, and the same trees
    ryml = None

_WORDS = "|".join(
    (
        "y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|True|TRUE|False|FALSE|~|Null|NULL",
        r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        # Numbers that JSON writes differently, or that do not fit 64 bits or a double.
        r"[-+]?0[xXoObB][0-9a-fA-F_]+",
        r"[-+]?0[0-9_]+\.?[0-9_]*",
        r"\+[0-9._]+",
        r"[-+]?[0-9][0-9.]*_[0-9_.]*",
        r"[-+]?[0-9._]+[eE][-+]?[0-9_]+",
        r"[-+]?\.[0-9_]+",
        r"[-+]?[0-9_]+\.0*",
        r"-?[0-9.]{16,}",
        r"-0|-0\.0*",
    )
)
# Where a value or key can begin: after the indentation, a dash, a colon.
_BEGIN = r"(?:^ *|[-:?] +)"
_UNUSUAL = re2.compile(
    "(?m)"
    + "|".join(
        (
            rf"{_BEGIN}(?:{_WORDS}) *(?:$|#|: |:$)",
            rf"{_BEGIN}(?:true|false|null|-?[0-9.]+) *:(?: |$)",
            rf"{_BEGIN}(?:[*!?%@`}}\],:]|&[^& ])",
            rf"{_BEGIN}(?:\[[^\]]|\{{[^}}])",
            r"[-:?] +[|>](?:[^-+\n]|[-+].)",
            r": +(?:-(?: |$)|#)",
            r"<<",
            r"[\x00-\x09\x0b-\x1f\x7f-\xa0\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]",
            r"\\[^\"\\ntr]",
        )
    )
)


def read(text: str) -> object:
    """Return the mapping in `text`, or raise ValueError: read it with `yaml_reader` instead."""
    # libyaml and the specification differ on a block scalar that ends without a line break.
    if ryml is None or not text.endswith("\n") or _UNUSUAL.search(text):
        raise ValueError("not as kubectl prints it")
    try:
        with _no_chatter():
            content: str | None = ryml.emit_json(ryml.parse_in_arena(text.encode()))
    except ryml.ExceptionBasic:
        raise ValueError("rapidyaml does not take it") from None
    tree = json_reader.quick(content.encode()) if content else None
    if not isinstance(tree, dict):
        raise ValueError("no mapping")
    return tree


@contextmanager
def _no_chatter() -> Iterator[None]:
    """rapidyaml prints its faults on file descriptor 2 besides raising them."""
    try:
        kept = os.dup(2)
    except OSError:  # standard error is closed, so nothing is printed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
