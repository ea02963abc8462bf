"""Semantic versions 2.0.0, read strictly or forgivingly, ordered by precedence.

Decides what is a version and which is newer; that an attribute's version has at most 64 bytes
is said by `model.rules`. The messages are Kubernetes' own.
Source: semver.org 2.0.0; the forgiving form is that of Kubernetes' CEL library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from dibs.values.quoted import quoted

_UINT64_MAX: Final = 2**64 - 1
_DIGITS = re.compile(r"[0-9]*", re.ASCII)
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+", re.ASCII)


class NotAVersion(ValueError):
    """The text is no version; the message is Kubernetes' own."""


@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """`major.minor.patch-pre+build`; equal and ordered by precedence, so build does not count.

    The three numbers reach 2^64-1. CEL's major(), minor() and patch() are int64 and wrap above
    2^63-1; that is done there.
    """

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()
    _rank: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rank", _rank(self))

    @staticmethod
    def parse(text: str, normalize: bool = False) -> Semver:
        """Read a version. `normalize` allows `v1`, `1.2` and `580.95.05`. Raises NotAVersion."""
        return _parse(_normalized(text) if normalize else text)

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1 by precedence."""
        return (self > other) - (self < other)

    def __eq__(self, other: object) -> bool:
        return self._rank == other._rank if isinstance(other, Semver) else NotImplemented

    def __lt__(self, other: Semver) -> bool:
        return self._rank < other._rank

    def __le__(self, other: Semver) -> bool:
        return self._rank <= other._rank

    def __gt__(self, other: Semver) -> bool:
        return self._rank > other._rank

    def __ge__(self, other: Semver) -> bool:
        return self._rank >= other._rank

    def __hash__(self) -> int:
        return hash(self._rank)

    def __str__(self) -> str:
        pre = "-" + ".".join(map(str, self.pre)) if self.pre else ""
        build = "+" + ".".join(self.build) if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}{build}"


def _rank(version: Semver) -> tuple[object, ...]:
    """Orders like the version: numbers before words, a longer pre-release after a shorter."""
    parts = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in version.pre)
    return (version.major, version.minor, version.patch, not version.pre, parts)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Semver:
    if not text:
        raise NotAVersion("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise NotAVersion("No Major.Minor.Patch elements found")
    major, minor = _number("Major", parts[0]), _number("Minor", parts[1])
    # The build comes off first: a hyphen behind the plus belongs to it.
    rest, has_build, build = parts[2].partition("+")
    patch, has_pre, pre = rest.partition("-")
    return Semver(
        major,
        minor,
        _number("Patch", patch),
        tuple(map(_pre_part, pre.split("."))) if has_pre else (),
        tuple(map(_build_part, build.split("."))) if has_build else (),
    )


def _number(what: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise NotAVersion(f"Invalid character(s) found in {what.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise NotAVersion(f"{what} number must not contain leading zeroes {quoted(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise NotAVersion('strconv.ParseUint: parsing "": invalid syntax')
    # 20 digits hold every uint64; longer text is never converted, which would take its time.
    if len(text) > 20 or int(text) > _UINT64_MAX:
        raise NotAVersion(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _pre_part(text: str) -> int | str:
    if not text:
        raise NotAVersion("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise NotAVersion(
                f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}"
            )
        return _uint64(text)
    if not _IDENTIFIER.fullmatch(text):
        raise NotAVersion(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _build_part(text: str) -> str:
    if not text:
        raise NotAVersion("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise NotAVersion(f"Invalid character(s) found in build meta data {quoted(text)}")
    return text


def _normalized(text: str) -> str:
    """`v1.02` → `1.2.0`; what it cannot mend is left for the strict reader to refuse."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise NotAVersion("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part.encode("utf-8", "surrogatepass")) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in set("0123456789") else "0" + rest
