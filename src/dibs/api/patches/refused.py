"""The one exception of patches and bodies: their input is wrong, or somebody else holds a field.

It carries what a `Status` needs; making one is left to the server.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status's `details.causes`."""

    reason: str
    message: str
    field: str


class Refused(Exception):
    """`code` and `reason` are those of a Status: 400 BadRequest, 409 Conflict, 422 Invalid, …"""

    def __init__(
        self, code: int, reason: str, message: str, causes: tuple[Cause, ...] = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes


# Messages quote what is wrong, which may be the whole body.
_LONGEST = 1000


def bad_request(message: str) -> Refused:
    return Refused(400, "BadRequest", _shortened(message))


def invalid(message: str) -> Refused:
    """The patch is well formed, but can't be applied to this object."""
    return Refused(422, "Invalid", _shortened(message))


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
