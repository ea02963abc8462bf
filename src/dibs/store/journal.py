"""The store's file: batches go in durably, and all that was acknowledged comes out again.

SQLite with a write-ahead log and synchronous=FULL: a commit returns once it is on the disk, and
after a crash each transaction is there or not. Whatever goes wrong, the connection is given up and
the file read anew: what a failed commit left behind is known only then (fsync may fail once and
then claim success), and it was called not written, so it is taken out.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dibs.store import schema
from dibs.store.faults import NotWritten
from dibs.store.folder import DATABASE, Lock
from dibs.store.records import Entry, Event, Key
from dibs.values.mistake import Mistake

# Most objects fit into a page or two; measured best for batches, no worse for single writes.
PAGE_BYTES = 8192
# How long another program's lock, such as a backup's, is waited for.
PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """What stood at the revision `compacted`, and every event since."""

    entries: Sequence[Entry]
    compacted: int
    events: Sequence[Event]


class SqliteJournal:
    """Owns the folder from `open` to `close`; one thread at a time."""

    def __init__(
        self, path: Path, lock: Lock, connection: sqlite3.Connection, loaded: Loaded
    ) -> None:
        self._path = path
        self._lock = lock
        self._connection: sqlite3.Connection | None = connection
        self._compacted = loaded.compacted
        # The latest revision that was acknowledged, or found when opened.
        self._last = loaded.compacted + len(loaded.events)

    @classmethod
    def open(cls, folder: Path) -> tuple[SqliteJournal, Loaded]:
        """Open, or make, the file in a folder. Raises Mistake, and leaves what isn't ours alone."""
        path = folder / DATABASE
        lock = Lock(folder)
        try:
            connection, loaded = _opened(path)
        except (sqlite3.Error, OSError) as error:
            lock.release()
            raise _unopened(path, error) from error
        except Mistake:
            lock.release()
            raise
        return cls(path, lock, connection, loaded), loaded

    def append(self, events: Sequence[Event], gone: Sequence[int], compacted: int) -> None:
        """See `store.Journal`."""
        try:
            connection = self._again()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", map(schema.row, events)
            )
            if compacted > self._compacted:
                connection.executemany(
                    "DELETE FROM log WHERE revision = ?", ((each,) for each in gone)
                )
                connection.execute("UPDATE past SET compacted = ?", (compacted,))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up()
            raise NotWritten(f"{self._path.name}: {error}") from error
        self._compacted = compacted
        if events:
            self._last = events[-1].revision

    def close(self) -> None:
        # A failure may have left something to be taken out; a disk that refuses that keeps it.
        with contextlib.suppress(sqlite3.Error):
            self._again()
        self._give_up()
        self._lock.release()

    def _again(self) -> sqlite3.Connection:
        """Return the connection; after a failure a new one, without what was never acknowledged."""
        if self._connection is None:
            connection = _connect(self._path)
            self._connection = connection
            connection.execute("DELETE FROM log WHERE revision > ?", (self._last,))
        return self._connection

    def _give_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Rolls back. It copies the write-ahead log if it can; if not, the next opening does.
            connection.close()


def _opened(path: Path) -> tuple[sqlite3.Connection, Loaded]:
    if not path.exists():
        _make(path)
    # All is read before anything may be changed: a damaged file stays as it is, for its rescue.
    with contextlib.closing(schema.reader(path)) as reader:
        loaded = _load(reader, path) if schema.is_current(reader, path) else None
    connection = _connect(path)
    try:
        if loaded is None:
            schema.upgrade(connection)
            loaded = _load(connection, path)
    except (sqlite3.Error, Mistake):
        connection.close()
        raise
    return connection, loaded


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
    )
    try:
        # With the lock kept no other program can write, and no memory is shared through a file.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise sqlite3.OperationalError("this file system can't hold a write-ahead log")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _make(path: Path) -> None:
    """Make an empty store under another name first: under its own it is whole or not there."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        # SQLite would take the log for the new file's.
        raise Mistake(
            f"missing, while {log.name} is there",
            path=str(path),
            remedy=f"put it back, or move {log.name} away to start empty",
        )
    new = path.with_name(f"{path.name}.new")
    for suffix in ("", "-journal", "-wal"):
        path.with_name(new.name + suffix).unlink(missing_ok=True)
    # SQLite gives its other files the permissions of this one.
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA synchronous = FULL")
        schema.upgrade(connection)
        # Kept in the file, which so never needs another journal than its log.
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    new.rename(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _load(connection: sqlite3.Connection, path: Path) -> Loaded:
    [compacted] = connection.execute("SELECT compacted FROM past").fetchone()
    settled = _read(connection, path, "SELECT * FROM log WHERE revision <= ?", compacted)
    entries = [entry for _, _, entry in settled if entry]
    stands: dict[Key, Entry | None] = {entry.key: entry for entry in entries}
    events: list[Event] = []
    later = "SELECT * FROM log WHERE revision > ? ORDER BY revision"
    for revision, key, after in _read(connection, path, later, compacted):
        due = compacted + len(events) + 1
        if revision != due:
            raise schema.damaged(path, f"revision {due} is missing")
        events.append(Event(revision, key, stands.get(key), after))
        stands[key] = after
    return Loaded(entries, compacted, events)


def _read(
    connection: sqlite3.Connection, path: Path, query: str, compacted: int
) -> Iterator[tuple[int, Key, Entry | None]]:
    for *columns, total in connection.execute(query, (compacted,)):
        revision, resource, namespace, name, created, value = columns
        if schema.row_sum(revision, resource, namespace, name, created, value) != total:
            raise schema.damaged(path, f"revision {revision} is not as it was written")
        key = Key(sys.intern(resource), sys.intern(namespace), name)
        yield revision, key, None if value is None else Entry(key, value, revision, created)


def _unopened(path: Path, error: sqlite3.Error | OSError) -> Mistake:
    if isinstance(error, sqlite3.DatabaseError) and not _is_circumstance(error):
        return schema.damaged(path, str(error))
    why = error.strerror if isinstance(error, OSError) else None
    return Mistake(
        f"can't be opened: {(why or str(error)).lower()}",
        path=str(path),
        remedy="see its permissions, its disk, and who else uses it",
    )


def _is_circumstance(error: sqlite3.DatabaseError) -> bool:
    """Is it the disk or another program, and not what the file holds?"""
    if not isinstance(error, sqlite3.OperationalError):
        return False
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CANTOPEN) != sqlite3.SQLITE_ERROR
