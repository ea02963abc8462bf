"""Amounts such as 40Gi, 500m or 1e3, exactly as Kubernetes reads, orders and prints them.

A quantity is `digits × 10^power`, and remembers in which of two forms Kubernetes would hold it
(a 64-bit integer or a big decimal), because CEL's isInteger depends on it. Values are equal and
ordered by number. Neither time nor memory grows with an exponent: 1e100000000 is as cheap as 1.
Source: apimachinery's resource.Quantity; differences are listed in designs/010.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NoReturn

from dibs.values import suffixes
from dibs.values.suffixes import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, NotAQuantity

__all__ = ["BINARY_SI", "DECIMAL_EXPONENT", "DECIMAL_SI", "NotAQuantity", "Quantity"]

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

# Longer numbers are refused: no device has 10^1000 bytes, and reading them takes quadratic time.
MAX_DIGITS: Final = 1000
# A sign, a point and a suffix more.
_MAX_LENGTH: Final = MAX_DIGITS + 50

_NANO: Final = -9
# At most this many digits before the point are ever written out; beyond it, `_rank` compresses.
_PLAIN_DIGITS: Final = 2000
_KEPT_DIGITS: Final = 2100
_FEW_DIGITS: Final = 10**100
_RANK_BITS: Final = 8192
_MOST_NANO: Final = 10**2009

# Possessive throughout: what was read once is never read again, however hostile the text.
_SHAPE = re.compile(
    r"([+-]?+)(0*+)([0-9]*+)(\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)", re.ASCII
)
_WRONG_SHAPE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"


class Quantity:
    """An exact amount. Immutable, hashable, ordered by number; safe to share and to cache.

    `format` is DecimalSI, BinarySI or DecimalExponent: the family of suffixes it prints with.
    `as_written` is what the API server would give back: the text as it came where that is nearly
    canonical (`1.500`), else the canonical text. `str()` is always canonical.

    A plain class rather than a dataclass: msgspec must hand it to the codec's hooks as text.
    """

    __slots__ = ("_digits", "_is_big", "_power", "_rank", "_text", "format")

    format: str
    _digits: int
    _power: int
    _is_big: bool
    _text: str
    # One integer that orders like the number, whatever the exponent.
    _rank: int

    def __init__(
        self, digits: int, power: int = 0, *, format: str = DECIMAL_SI, is_big: bool = False
    ) -> None:
        """`digits × 10^power`, power ≥ -9. Most callers want `parse` or `of`."""
        assert power >= _NANO
        _fill(self, digits, power, format, is_big or not _is_int64(digits), "")

    @staticmethod
    def parse(text: str) -> Quantity:
        """Read an amount; blanks around it are not allowed (the API trims, CEL does not).

        Raises NotAQuantity.
        """
        return _parse(text)

    @staticmethod
    def of(number: int, format: str = DECIMAL_SI) -> Quantity:
        return Quantity(number, 0, format=format)

    @property
    def as_written(self) -> str:
        return self._text or str(self)

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self._digits > 0) - (self._digits < 0)

    def is_integer(self) -> bool:
        """Whether CEL's isInteger is true: a matter of spelling too (`1.0` is none)."""
        return not self._is_big and self._power >= 0 and _is_int64(self._written_out())

    def as_int(self) -> int:
        """The number as int64. Raises ValueError unless `is_integer()`."""
        if not self.is_integer():
            raise ValueError("cannot convert value to integer")
        return self._written_out()

    def approximate_float(self) -> float:
        """Kubernetes' AsApproximateFloat64; it rounds twice, so 5u is 4.9999999999999996e-06."""
        if not self._digits:
            return 0.0
        if abs(self._power) > _PLAIN_DIGITS:
            return float("inf") * self.sign()
        try:
            return float(self._digits) * float(f"1e{self._power}")
        except OverflowError:
            return float("inf") * self.sign()

    def plus(self, other: Quantity | int) -> Quantity:
        """The sum keeps the finer scale: 500m + 500m is 1, and no integer for CEL.

        Where one side is beyond 10^2000 times the other, the other is lost.
        """
        return _sum(self, _quantity(other))

    def minus(self, other: Quantity | int) -> Quantity:
        return _sum(self, _quantity(other).negated())

    def negated(self) -> Quantity:
        return Quantity(-self._digits, self._power, format=self.format, is_big=self._is_big)

    def times(self, other: Quantity) -> Quantity:
        """The product, written as this one is; below nano it is rounded away from zero."""
        digits, power = _shortened(self._digits * other._digits, self._power + other._power)
        if power < _NANO:
            unit = _tens(_NANO - power)
            digits = -(-digits // unit) if digits > 0 else digits // unit
            power = _NANO
        is_big = self._is_big or other._is_big or not _is_int64(digits)
        return Quantity(digits, power, format=self.format, is_big=is_big)

    def rounded_up(self) -> int:
        """Kubernetes' Value(): the next integer away from zero, kept within int64."""
        return _within_int64(self._scaled(0))

    def milli_rounded_up(self) -> int:
        """Thousandths, the next integer away from zero, kept within int64."""
        return _within_int64(self._scaled(-3))

    def exact_milli(self) -> int | None:
        """Thousandths as int64; None where that loses something."""
        milli = self._scaled(-3)
        exact = milli * 10**6 == self._rank and _is_int64(milli)
        return milli if exact else None

    def exact_nano(self) -> int | None:
        """Billionths, which no amount is finer than; None for one of more than 2,000 digits."""
        return self._rank if abs(self._rank) < _MOST_NANO else None

    def is_whole(self) -> bool:
        """Whether the *number* has no fraction, however it was written (unlike `is_integer`)."""
        return self._power >= 0 or self._digits % _tens(-self._power) == 0

    def _written_out(self) -> int:
        """The number for a power ≥ 0, or something beyond int64 for a hopeless power."""
        return self._digits * _tens(min(self._power, 20))

    def _scaled(self, power: int) -> int:
        """The number in units of 10^power, rounded away from zero; beyond int64 not exact."""
        shift = self._power - power
        if shift >= 0:
            return self._digits * _tens(min(shift, _PLAIN_DIGITS))
        size = -(-abs(self._digits) // _tens(-shift))
        return size if self._digits >= 0 else -size

    def __eq__(self, other: object) -> bool:
        return self._rank == other._rank if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self._rank < other._rank

    def __le__(self, other: Quantity) -> bool:
        return self._rank <= other._rank

    def __gt__(self, other: Quantity) -> bool:
        return self._rank > other._rank

    def __ge__(self, other: Quantity) -> bool:
        return self._rank >= other._rank

    def __hash__(self) -> int:
        return hash(self._rank)

    def __str__(self) -> str:
        return _canonical(self)

    def __repr__(self) -> str:
        return f"Quantity({self.as_written!r})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Quantity does not change: {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._digits, self._power, self.format, self._is_big, self._text)


def _fill(
    made: Quantity, digits: int, power: int, format: str, is_big: bool, text: str
) -> Quantity:
    put = object.__setattr__
    put(made, "_digits", digits)
    put(made, "_power", power)
    put(made, "format", format)
    put(made, "_is_big", is_big)
    put(made, "_text", text)
    put(made, "_rank", _rank(digits, power))
    return made


def _restore(digits: int, power: int, format: str, is_big: bool, text: str) -> Quantity:
    return _fill(Quantity.__new__(Quantity), digits, power, format, is_big, text)


def _rank(digits: int, power: int) -> int:
    """Billionths where they can be written out; else length first, then the leading digits.

    A length is below 2^33 and sits above bit 8192, where no written-out number reaches.
    """
    if power <= 40 and -_FEW_DIGITS < digits < _FEW_DIGITS:
        return digits * _tens(power - _NANO)
    if not digits:
        return 0
    size = str(abs(digits))
    length = len(size) + power
    if length <= _PLAIN_DIGITS:
        return digits * _tens(power - _NANO)
    leading = abs(digits) * _tens(_KEPT_DIGITS - len(size))
    rank = (length << _RANK_BITS) | leading
    return rank if digits > 0 else -rank


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    if len(text) > _MAX_LENGTH:
        raise NotAQuantity(f"quantities have at most {MAX_DIGITS} digits")
    shape = _SHAPE.fullmatch(text)
    if not text or not shape:
        raise NotAQuantity(_WRONG_SHAPE)
    sign, zeros, whole, _, fraction, suffix = shape.groups()
    base, exponent, format = suffixes.read(suffix)
    # "007" counts as one digit, "0.5" as two: it decides which form holds the number.
    whole = whole or "0"
    number = whole + (fraction or "")
    negative = -1 if sign == "-" else 1
    small = _small(int(number) * negative, base, exponent, len(whole), fraction or "")
    if small:
        digits, power = small
        text = text if _is_kept(base, power, number) else ""
        return _restore(digits, power, format, False, text)
    if not zeros and not shape.group(3) and not fraction:
        raise NotAQuantity(_WRONG_NUMBER)
    digits, power, format = _big(int(number), base, exponent, len(fraction or ""), format)
    return _restore(digits * negative, power, format, True, "")


def _small(
    number: int, base: int, exponent: int, whole_digits: int, fraction: str
) -> tuple[int, int] | None:
    """Digits and power, if Kubernetes holds the number as a 64-bit integer."""
    if base == 2:
        spare = 14 - whole_digits - exponent * 3 // 10
        return (number << exponent, 0) if not fraction and spare >= 0 else None
    power = exponent - len(fraction)
    return (number, power) if whole_digits + len(fraction) <= 18 and power >= _NANO else None


def _is_kept(base: int, power: int, number: str) -> bool:
    """Whether the API prints the text as it was written. A binary number has no fraction here."""
    if base == 2:
        return int(number) % 8 != 0
    return power % 3 == 0 and not number.endswith("000") and number[0] != "0"


def _big(
    number: int, base: int, exponent: int, fraction_digits: int, format: str
) -> tuple[int, int, str]:
    """Digits, power and format of a number held as decimal: at 1n, rounded away from zero."""
    if base == 2:
        number, power = number << exponent, -fraction_digits
    else:
        power = exponent - fraction_digits
    if number == 0:
        return 0, 0, format
    if power < _NANO:
        too_fine = min(_NANO - power, _MAX_LENGTH)
        number, power = -(-number // _tens(too_fine)), _NANO
    elif power - _NANO <= _PLAIN_DIGITS:
        number, power = number * _tens(power - _NANO), _NANO
    if format != BINARY_SI:
        return number, power, format
    if number > INT64_MAX * 10**9:
        return INT64_MAX, 0, format
    return number, power, DECIMAL_SI if number < 10**9 else format


def _sum(left: Quantity, right: Quantity) -> Quantity:
    format = left.format if left._digits else right.format
    is_big = left._is_big or right._is_big
    if not left._digits or not right._digits:
        kept = left if left._digits or not right._digits else right
        return Quantity(kept._digits, kept._power, format=format, is_big=is_big)
    coarse, fine = (left, right) if left._power >= right._power else (right, left)
    shift = coarse._power - fine._power
    if shift > _PLAIN_DIGITS:
        return Quantity(coarse._digits, coarse._power, format=format, is_big=True)
    lifted = coarse._digits * _tens(shift)
    is_big = is_big or not _is_int64(lifted)
    digits, power = _shortened(lifted + fine._digits, fine._power)
    return Quantity(digits, power, format=format, is_big=is_big)


def _shortened(digits: int, power: int) -> tuple[int, int]:
    """Forget what is beyond the digits kept, so that sums of sums stay bounded."""
    if digits.bit_length() < 6900:
        return digits, power
    surplus = max(0, len(str(abs(digits))) - _KEPT_DIGITS)
    sign = 1 if digits > 0 else -1
    return sign * (abs(digits) // _tens(surplus)), power + surplus


def _canonical(quantity: Quantity) -> str:
    """No fraction, no lost precision, and the largest suffix that allows both."""
    digits, power = quantity._digits, quantity._power
    if digits == 0:
        return "0"
    if quantity.format == BINARY_SI and quantity.is_whole() and power <= _PLAIN_DIGITS:
        number = quantity._scaled(0)
        if abs(number) >= 1024:
            return suffixes.binary_text(number)
    while digits % 10 == 0:
        digits, power = digits // 10, power + 1
    exponent = power - power % 3
    if quantity.format != DECIMAL_EXPONENT:
        # Kubernetes knows no suffix beyond E and prints 1000E as "1"; the number matters more.
        exponent = min(exponent, 18)
        if power - exponent > _PLAIN_DIGITS:
            return f"{digits}e{power}"
        return f"{digits * _tens(power - exponent)}{suffixes.DECIMAL[exponent]}"
    return f"{digits * _tens(power - exponent)}" + (f"e{exponent}" if exponent else "")


def _quantity(value: Quantity | int) -> Quantity:
    return value if isinstance(value, Quantity) else Quantity.of(value)


def _tens(power: int) -> int:
    return int(10**power)


def _is_int64(number: int) -> bool:
    return INT64_MIN <= number <= INT64_MAX


def _within_int64(number: int) -> int:
    return max(INT64_MIN, min(INT64_MAX, number))
