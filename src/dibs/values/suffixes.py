"""The suffixes of quantities: Ki to Ei, n to E, and decimal exponents; what each stands for.

What is done with the number before the suffix is decided in `quantity`.
Source: apimachinery's resource.Quantity.
"""

from __future__ import annotations

import re
from typing import Final

DECIMAL_SI: Final = "DecimalSI"
BINARY_SI: Final = "BinarySI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

_DECIMAL_POWERS = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_POWERS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY = {0: "", **{power: suffix for suffix, power in _BINARY_POWERS.items()}}
# Suffix by power of ten.
DECIMAL: Final = {power: suffix for suffix, power in _DECIMAL_POWERS.items()}

_EXPONENT = re.compile(r"[eE][-+]?[0-9]+", re.ASCII)
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"


class NotAQuantity(ValueError):
    """The text is no quantity; the message is Kubernetes' own."""


def read(suffix: str) -> tuple[int, int, str]:
    """Return base, exponent and format. Raises NotAQuantity."""
    if suffix in _DECIMAL_POWERS:
        return 10, _DECIMAL_POWERS[suffix], DECIMAL_SI
    if suffix in _BINARY_POWERS:
        return 2, _BINARY_POWERS[suffix], BINARY_SI
    # 40 characters are more than any 64-bit exponent has, leading zeros aside.
    if not _EXPONENT.fullmatch(suffix) or len(suffix) > 40:
        raise NotAQuantity(_WRONG_SUFFIX)
    exponent = int(suffix[1:])
    if not -(2**63) <= exponent < 2**63:
        raise NotAQuantity(_WRONG_SUFFIX)
    # Kubernetes keeps the low 32 bits: 1e4294967299 is 1000.
    return 10, (exponent + 2**31) % 2**32 - 2**31, DECIMAL_EXPONENT


def binary_text(number: int) -> str:
    """Write a whole number with the largest binary suffix that leaves no fraction."""
    exponent = 0
    while number % 1024 == 0 and exponent < 60:
        number, exponent = number // 1024, exponent + 10
    return f"{number}{_BINARY[exponent]}"
