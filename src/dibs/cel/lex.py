"""Text → tokens. Every character belongs to a token, to white space, or to a fault.

What the grammar does not know is reported and skipped, so that later faults are found too.
Source: the CEL specification, "syntax"; escapes are read in `literals`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dibs.cel.faults import Fault, Source, Span

_ESCAPE = (
    r"\\(?:[abfnrtv\"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])"
)


def _quoted(quote: str) -> str:
    """Four forms of one quote: raw triple, raw, triple, plain. The longest is tried first."""
    triple = quote * 3
    return (
        rf"[rR]{triple}(?s:.*?){triple}|[rR]{quote}[^{quote}\n\r]*{quote}"
        rf"|{triple}(?:{_ESCAPE}|[^\\])*?{triple}|{quote}(?:{_ESCAPE}|[^\\{quote}\n\r])*{quote}"
    )


_STRING = f"{_quoted(chr(34))}|{_quoted(chr(39))}"
_EXPONENT = r"[eE][+-]?[0-9]+"
_TOKEN = re.compile(
    rf"""(?P<space>[\t\f\n\r ]+|//[^\n]*)
    |(?P<bytes>[bB](?:{_STRING}))
    |(?P<string>{_STRING})
    |(?P<float>[0-9]+\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|\.[0-9]+(?:{_EXPONENT})?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<escaped>`[A-Za-z0-9_.\-/\ ]+`)
    |(?P<symbol>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])""",
    re.VERBOSE,
)
# How far an unfinished string reaches before the lexer gives up on it.
_UNFINISHED = re.compile(rf"(?:\"(?:{_ESCAPE}|[^\\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*).?", re.S)
KEYWORDS = frozenset(("in", "true", "false", "null"))
MOST_FAULTS = 30


@dataclass(slots=True)
class Token:
    """`kind` is a class of tokens ("int", "word", "end"), or the symbol or keyword itself."""

    kind: str
    text: str
    start: int
    end: int


def tokens(source: Source) -> tuple[list[Token], list[Fault]]:
    """Split the source; the last token is of kind "end". Never raises."""
    text, at = source.text, 0
    found: list[Token] = []
    faults: list[Fault] = []
    match = _TOKEN.match
    while at < len(text):
        token = match(text, at)
        if token is None:
            at = _skip(source, at, faults)
            if len(faults) >= MOST_FAULTS:
                break
            continue
        kind = token.lastgroup or ""
        if kind != "space":
            word = token[0]
            if kind == "symbol" or (kind == "word" and word in KEYWORDS):
                kind = word
            found.append(Token(kind, word, at, token.end()))
        at = token.end()
    found.append(Token("end", "<EOF>", len(text), len(text)))
    return found, faults


def _skip(source: Source, at: int, faults: list[Fault]) -> int:
    unfinished = _UNFINISHED.match(source.text, at)
    end = max(unfinished.end() if unfinished else at, at + 1)
    bad = source.text[at:end].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    text = f"Syntax error: token recognition error at: '{bad}'"
    faults.append(source.fault(text, at, Span(at, end), is_syntax=True))
    return end
