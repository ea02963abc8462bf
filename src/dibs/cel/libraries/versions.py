"""Kubernetes' Semver functions. Reading and precedence are `values.version`'s."""

from __future__ import annotations

import operator

from dibs.cel.declare import Library, function, member
from dibs.cel.runtime import MOST_INT, EvaluationError, Semver
from dibs.cel.types import BOOL, INT, SEMVER, STRING
from dibs.values.version import NotAVersion


def semver(text: str, normalize: bool = False) -> Semver:
    try:
        return Semver.parse(text, normalize)
    except NotAVersion as error:
        raise EvaluationError(str(error)) from None


def is_semver(text: str, normalize: bool = False) -> bool:
    try:
        Semver.parse(text, normalize)
    except NotAVersion:
        return False
    return True


def compare(left: Semver, right: Semver) -> int:
    return (left > right) - (left < right)


def _wrapped(number: int) -> int:
    """An unsigned 64-bit number read as a signed one, as upstream does it."""
    return number if number <= MOST_INT else number - 2**64


def major(version: Semver) -> int:
    return _wrapped(version.major)


def minor(version: Semver) -> int:
    return _wrapped(version.minor)


def patch(version: Semver) -> int:
    return _wrapped(version.patch)


_PAIR = (SEMVER, SEMVER)

LIBRARY = Library(
    "kubernetes.semver",
    (
        *function(
            "semver",
            ("string_to_semver", (STRING,), SEMVER, semver),
            ("string_bool_to_semver", (STRING, BOOL), SEMVER, semver),
        ),
        *function(
            "isSemver",
            ("is_semver_string", (STRING,), BOOL, is_semver),
            ("is_semver_string_bool", (STRING, BOOL), BOOL, is_semver),
        ),
        *member("isGreaterThan", ("semver_is_greater_than", _PAIR, BOOL, operator.gt)),
        *member("isLessThan", ("semver_is_less_than", _PAIR, BOOL, operator.lt)),
        *member("compareTo", ("semver_compare_to", _PAIR, INT, compare)),
        *member("major", ("semver_major", (SEMVER,), INT, major)),
        *member("minor", ("semver_minor", (SEMVER,), INT, minor)),
        *member("patch", ("semver_patch", (SEMVER,), INT, patch)),
    ),
)
