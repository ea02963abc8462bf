"""Text the way Go prints it with %q, which is how Kubernetes' messages show a value.

Decides only what is escaped; who quotes what is the business of the message.
"""

from __future__ import annotations

_SHORT = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def quoted(text: str) -> str:
    """`say "hi"` → `"say \\"hi\\""`."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_shown, text)) + '"'


def on_one_line(text: str) -> str:
    """The same without quotes, for a cell of a table: what would break its line, or turn the
    direction of what follows, is escaped."""
    if text.isprintable():
        return text
    return "".join(each if each in '"\\' else _shown(each) for each in text)


def _shown(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    # Lone surrogates come from badly escaped JSON; Go reads them as U+FFFD.
    if 0xD800 <= code <= 0xDFFF:
        return "�"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
