"""Every rule over everything that was read: the public verb of this room.

`check(loaded)` takes what `client.dump.load` returns; the rules are the tuples of the families
beside this file. Order of findings: file, line, column, code.
"""

from __future__ import annotations

from dibs.lint.finding import Finding


def check(loaded: object) -> tuple[Finding, ...]:
    """Return every finding, in the order of the files and lines they are about."""
    raise NotImplementedError
