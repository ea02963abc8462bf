"""Conflicts of server-side apply: whose field it is, in the words that kubectl prints.

Source: the Status of a failed apply (409, cause FieldManagerConflict).
"""

from __future__ import annotations

import json

from dibs.api.patches import fieldsets
from dibs.api.patches.entries import UPDATE, Entry, Writer
from dibs.api.patches.fieldsets import Fields, Path
from dibs.api.patches.refused import Cause, Refused


class Conflicting(Exception):
    """`fields` are those that each other manager owns and this apply would change."""

    def __init__(self, fields: dict[Writer, tuple[Entry, Fields]]) -> None:
        super().__init__()
        self.fields = fields

    def without(self, allowed: Fields) -> Conflicting:
        left = {
            who: (entry, rest)
            for who, (entry, fields) in self.fields.items()
            if (rest := fieldsets.difference(fields, allowed))
        }
        return Conflicting(left)

    def refused(self) -> Refused:
        found = [
            (_named(who, entry), path)
            for who, (entry, fields) in sorted(self.fields.items(), key=lambda each: _key(each[0]))
            for path in fieldsets.paths(fields)
        ]
        causes = tuple(
            Cause("FieldManagerConflict", f"conflict with {name}", fieldsets.shown(path))
            for name, path in found
        )
        return Refused(409, "Conflict", _message(found), causes)


def _message(found: list[tuple[str, Path]]) -> str:
    if len(found) == 1:
        name, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {name}: {fieldsets.shown(path)}"
    by_manager: dict[str, list[str]] = {}
    for name, path in found:
        by_manager.setdefault(name, []).append(f"- {fieldsets.shown(path)}")
    lines = [
        line for name, paths in by_manager.items() for line in (f"conflicts with {name}:", *paths)
    ]
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _named(who: Writer, entry: Entry) -> str:
    name = json.dumps(who.manager, ensure_ascii=False)
    if who.subresource:
        name += f" with subresource {json.dumps(who.subresource)}"
    # No time: writers are told apart without it.
    return f"{name} using {entry.api_version}" if who.operation == UPDATE else name


def _key(who: Writer) -> str:
    """As a JSON object, which is what kubectl sees them sorted by."""
    names = {"operation": who.operation, "apiVersion": who.api_version}
    names = {"manager": who.manager, **names, "subresource": who.subresource}
    return json.dumps({name: text for name, text in names.items() if text}, separators=(",", ":"))
