"""The public verbs: which rules an object of each kind is put to, on create, update and status.

Objects are given their defaults first, as the API server does (`defaults`): a missing mode, count
or operator is no fault. What each rule says is in the files beside this one.
"""

from __future__ import annotations

from collections.abc import Iterable

from dibs.model.kinds import Known
from dibs.model.rules.context import NO_CONTEXT, Context
from dibs.model.rules.faults import FieldFault


def validate(
    item: Known, old: Known | None = None, *, context: Context = NO_CONTEXT
) -> tuple[FieldFault, ...]:
    """Return every fault of a new object, or of the change from `old` to `item`.

    The status is not looked at: on its main resource the API server drops or keeps it. `old` must
    be of the same kind. Never raises.
    """
    raise NotImplementedError


def validate_status(
    item: Known, old: Known, *, context: Context = NO_CONTEXT
) -> tuple[FieldFault, ...]:
    """Return every fault of a write to the status subresource, `()` for kinds without one."""
    raise NotImplementedError


def validate_as_found(item: Known, *, context: Context = NO_CONTEXT) -> tuple[FieldFault, ...]:
    """Return every fault of an object as it stands in a file or a dump, status included."""
    raise NotImplementedError


def distinct(found: Iterable[FieldFault]) -> tuple[FieldFault, ...]:
    """Drop what was said twice, as the API server does when it makes one message of them."""
    return tuple({str(fault): fault for fault in found}.values())
