"""The file of a store: how it is told from others, what is in it, and how older ones are upgraded.

One row a revision, so that a write only ever appends. What stands is each key's latest row; rows
that nobody needs after compaction are deleted by their revision, and no index is kept. A row's sum
guards it against damage that SQLite can't see.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path

from dibs.store.records import Event
from dibs.values.mistake import Mistake

# "dibs": bytes 68 to 71 of the file.
APPLICATION_ID = 0x64696273

# Each step takes a file from the version of its place to the next; a new file takes them all.
# A step once released is never changed.
STEPS: Sequence[str] = (
    """
    CREATE TABLE log (
      revision        INTEGER PRIMARY KEY,
      resource        TEXT    NOT NULL,
      namespace       TEXT    NOT NULL,
      name            TEXT    NOT NULL,
      create_revision INTEGER NOT NULL,
      value           BLOB,              -- NULL: deleted
      sum             INTEGER NOT NULL   -- CRC-32 of all the others
    );
    CREATE TABLE past (compacted INTEGER NOT NULL);
    INSERT INTO past VALUES (0);
    """,
)

# Revision, resource, namespace, name, create_revision, value, sum.
Row = tuple[int, str, str, str, int, bytes | None, int]


def row(event: Event) -> Row:
    key, after = event.key, event.after
    # A tombstone is created when what it ends was: nobody reads it, but the sum needs a number.
    entry = after or event.before
    assert entry is not None
    written = (event.revision, key.resource, key.namespace, key.name, entry.create_revision)
    value = after.value if after else None
    return (*written, value, row_sum(*written, value))


def row_sum(
    revision: int, resource: str, namespace: str, name: str, created: int, value: bytes | None
) -> int:
    ended = "deleted" if value is None else "written"
    head = f"{revision}\0{resource}\0{namespace}\0{name}\0{created}\0{ended}\0"
    return zlib.crc32(value or b"", zlib.crc32(head.encode()))


def upgrade(connection: sqlite3.Connection, steps: Sequence[str] = STEPS) -> None:
    """Bring a file to the latest version, in one transaction."""
    version = _version(connection)
    if version == len(steps):
        return
    todo = "".join(steps[version:])
    connection.executescript(
        f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID};"
        f"{todo} PRAGMA user_version = {len(steps)}; COMMIT;"
    )


def reader(path: Path) -> sqlite3.Connection:
    """Open a file that is there, unable to change it. Raises Mistake if it isn't a store."""
    with path.open("rb") as file:
        header = file.read(100)
    if (
        header[:16] != b"SQLite format 3\0"
        or int.from_bytes(header[68:72], "big") != APPLICATION_ID
    ):
        raise Mistake(
            "not a store of dibs", path=str(path), remedy="name another folder, or move it away"
        )
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def is_current(connection: sqlite3.Connection, path: Path, steps: Sequence[str] = STEPS) -> bool:
    """Is it of the latest version? Raises Mistake if it is damaged, or of a later one."""
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, str(found).splitlines()[-1])
    version = _version(connection)
    if version > len(steps):
        raise Mistake(
            f"written by a newer dibs: version {version} of the file, this one knows {len(steps)}",
            path=str(path),
            remedy="use that dibs, or name another folder",
        )
    return version == len(steps)


def damaged(path: Path, how: str) -> Mistake:
    return Mistake(
        f"damaged: {how}",
        path=str(path),
        remedy=f"put back a copy of it and of {path.name}-wal, or move both away to start empty",
    )


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
