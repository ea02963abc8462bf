"""What goes wrong while an expression is evaluated, and the one bound on what it may build.

Whether an error is absorbed by `&&` and `||` is the compiler's matter; texts are cel-go's.
"""

from __future__ import annotations

# Strings and lists stay below these. They lie above anything the cost limit of 1 000 000 can pay
# for (a list element costs 1) or a selector has use for; what is refused would eat memory.
MOST_CHARACTERS = 1_000_000
MOST_ELEMENTS = 1_000_000


class EvaluationError(Exception):
    """An evaluation has no value; `text` says why, in cel-go's words where it has them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        # What the evaluation had cost by then; known where a whole program is evaluated.
        self.cost = 0


class CostLimitExceeded(EvaluationError):
    """The evaluation as a whole is over: unlike other errors, never absorbed by `&&` and `||`."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_overload(name: str = "") -> EvaluationError:
    """`no such overload`, with what was asked for: "_<_", "lowerAscii(int)"."""
    return EvaluationError(f"no such overload: {name}" if name else "no such overload")


def bounded_text(text: str) -> str:
    """`text`, unless it is larger than any evaluation can pay for."""
    if len(text) > MOST_CHARACTERS:
        raise CostLimitExceeded
    return text


def bounded_count(count: int, most: int = MOST_ELEMENTS) -> int:
    """`count`, to be asked before that many elements or characters are made."""
    if count > most:
        raise CostLimitExceeded
    return count
