"""Folders and files that a store is opened in: whose they are, and what is wrong with them."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dibs.store import journal, opening, schema
from dibs.store.records import Entry, Key, Put
from dibs.values.mistake import Mistake

POD = Key("pods", "default", "a")


def write(folder: Path, *values: bytes) -> None:
    async def work() -> None:
        store = await opening.in_folder(folder)
        for value in values:
            await store.commit(Put(POD, value))
        await store.close()

    asyncio.run(work())


def refused(folder: Path) -> str:
    async def work() -> None:
        await opening.in_folder(folder)

    with pytest.raises(Mistake) as told:
        asyncio.run(work())
    assert told.value.path
    assert told.value.remedy
    return str(told.value)


def content(folder: Path) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    # Not what a reader of SQLite leaves (it is made anew each time), nor who was the owner.
    left = ("store.db-shm", "store.lock")
    return {name: data for name, data in files.items() if data and name not in left}


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"

    async def work() -> dict[str, int]:
        store = await opening.in_folder(folder)
        await store.put(POD, b"secret")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        await store.close()
        return modes

    before = os.umask(0)
    try:
        modes = asyncio.run(work())
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes.keys() >= {"store.db", "store.db-wal", "store.lock"}
    assert set(modes.values()) == {0o600}


def test_one_process_at_a_time(tmp_path: Path) -> None:
    async def work() -> str:
        store = await opening.in_folder(tmp_path)
        await store.put(POD, b"1")
        with pytest.raises(Mistake) as told:
            await opening.in_folder(tmp_path)
        # The first has lost nothing by it, not even its lock.
        await store.put(POD, b"2")
        with pytest.raises(Mistake):
            await opening.in_folder(tmp_path)
        await store.close()
        again = await opening.in_folder(tmp_path)
        assert again.revision == 2
        await again.close()
        return str(told.value)

    message = asyncio.run(work())
    assert f"in use by another dibs (pid {os.getpid()}); stop that one" in message


def test_a_lock_that_was_left_over_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "store.lock").write_text("4194304 and more than a pid\n")
    write(tmp_path, b"1")
    assert (tmp_path / "store.lock").read_text() == f"{os.getpid()}\n"


def test_a_database_that_another_program_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, b"1")
    monkeypatch.setattr(journal, "PATIENCE_S", 0.0)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert "store.db: can't be opened: database is locked" in refused(tmp_path)
    finally:
        other.close()
    write(tmp_path, b"2")


# --- folders -------------------------------------------------------------------------------------


def test_a_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    assert "data: is not a folder; name a folder" in refused(tmp_path / "data")
    assert "can't be made: not a directory" in refused(tmp_path / "data" / "below")
    assert (tmp_path / "data").read_text() == "mine"


@contextmanager
def as_nobody() -> Iterator[None]:
    """To root nothing is forbidden."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        yield


def test_a_folder_that_may_not_be_written_to() -> None:
    # Not in pytest's folder, into which only its owner may look.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        write(folder, b"1")
        folder.parent.chmod(0o755)
        folder.chmod(0o555)
        with as_nobody():
            assert "data: can't be written to: permission denied" in refused(folder)
            assert "can't be made: permission denied" in refused(folder / "below")
        folder.chmod(0o755)


def test_a_file_in_the_way_of_making_one(tmp_path: Path) -> None:
    (tmp_path / "store.db.new").mkdir()
    assert "store.db: can't be opened: is a directory" in refused(tmp_path)
    (tmp_path / "store.db.new").rmdir()
    # What a crash left while making one is in nobody's way.
    for name in ("store.db.new", "store.db.new-journal", "store.db.new-wal"):
        (tmp_path / name).write_bytes(b"half of one")
    write(tmp_path, b"1")
    assert set(content(tmp_path)) == {"store.db"}


# --- files ---------------------------------------------------------------------------------------


def foreign(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE log (mine TEXT)")
    other.commit()
    other.close()


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    # The last of it: the first may be on a page that the log has a newer version of.
    at = data.rindex(b"a value that is long enough")
    data[at] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: -journal.PAGE_BYTES])


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[journal.PAGE_BYTES : 2 * journal.PAGE_BYTES] = os.urandom(journal.PAGE_BYTES)
    path.write_bytes(data)


def without_table(path: Path) -> None:
    _execute(path, "DROP TABLE past")


def with_a_hole(path: Path) -> None:
    _execute(path, "DELETE FROM log WHERE revision = 2")


def of_the_future(path: Path) -> None:
    _execute(path, "PRAGMA user_version = 99")


def _execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (foreign, "not a store of dibs; name another folder, or move it away"),
        (lambda path: path.write_bytes(b""), "not a store of dibs"),
        (lambda path: path.write_bytes(b"# notes\n" * 1000), "not a store of dibs"),
        (flipped, "damaged: revision 2 is not as it was written; put back a copy"),
        (cut, "damaged: "),
        (overwritten, "damaged: "),
        (without_table, "damaged: no such table: past"),
        (with_a_hole, "damaged: revision 2 is missing"),
        (of_the_future, "written by a newer dibs: version 99 of the file, this one knows 1"),
    ],
)
def test_a_file_that_is_no_sound_store(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    if change is not foreign:
        write(tmp_path, b"1", b"a value that is long enough" * 1000, b"3")
    change(tmp_path / "store.db")
    before = content(tmp_path)
    assert f"store.db: {message}" in refused(tmp_path)
    assert content(tmp_path) == before
    # And nobody is locked out by the attempt.
    assert message in refused(tmp_path)


def test_a_damaged_file_keeps_its_log(tmp_path: Path) -> None:
    """After a crash, what was written last is in the log alone."""
    write(tmp_path / "data", b"1", b"a value that is long enough" * 1000)

    async def killed() -> None:
        store = await opening.in_folder(tmp_path / "data")
        await store.put(POD, b"later")
        shutil.copytree(tmp_path / "data", tmp_path / "left")
        await store.close()

    asyncio.run(killed())
    flipped(tmp_path / "left" / "store.db")
    before = content(tmp_path / "left")
    assert before.keys() == {"store.db", "store.db-wal"}
    assert "damaged: revision 2 is not as it was written" in refused(tmp_path / "left")
    assert content(tmp_path / "left") == before


def test_the_file_forgets_with_the_store(tmp_path: Path) -> None:
    async def work() -> None:
        store = await opening.in_folder(tmp_path)
        for round_ in range(5):
            for name in "abc":
                await store.put(Key("pods", "", name), b"%d" % round_)
        await store.delete(Key("pods", "", "c"))
        await store.compact(store.revision)
        await store.close()

    asyncio.run(work())
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        rows = connection.execute("SELECT revision, name FROM log").fetchall()
    assert rows == [(13, "a"), (14, "b")]


def test_a_log_without_its_database(tmp_path: Path) -> None:
    (tmp_path / "store.db-wal").write_bytes(b"what was not copied yet")
    assert "store.db: missing, while store.db-wal is there; put it back" in refused(tmp_path)
    assert set(content(tmp_path)) == {"store.db-wal"}


# --- versions ------------------------------------------------------------------------------------

# Version 1 as it was first released: files of it must be read for ever.
VERSION_1 = """
PRAGMA application_id = 1684628083;
CREATE TABLE log (
  revision INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  create_revision INTEGER NOT NULL, value BLOB, sum INTEGER NOT NULL
);
CREATE TABLE past (compacted INTEGER NOT NULL);
INSERT INTO past VALUES (7);
PRAGMA user_version = 1;
"""


def by_hand(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_1)
    for revision, name, created, value in (
        (3, "old", 3, b"{}"),
        (8, "new", 8, b'{"a":1}'),
        (9, "old", 3, None),
    ):
        ended = b"deleted" if value is None else b"written"
        head = b"%d\0pods\0default\0%s\0%d\0%s\0" % (revision, name.encode(), created, ended)
        total = zlib.crc32(head + (value or b""))
        row = (revision, "pods", "default", name, created, value, total)
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()


def test_version_1_is_read(tmp_path: Path) -> None:
    by_hand(tmp_path / "store.db")

    async def work() -> None:
        store = await opening.in_folder(tmp_path)
        new = Entry(Key("pods", "default", "new"), b'{"a":1}', 8, 8)
        assert store.page("pods").entries == (new,)
        assert (store.revision, store.oldest) == (9, 7)
        first, second = await store.watch(since=7).take()
        assert first.after == new
        assert second.before == Entry(Key("pods", "default", "old"), b"{}", 3, 3)
        await store.put(POD, b"10")
        await store.close()

    asyncio.run(work())


def test_an_older_version_is_upgraded_in_one_step_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    by_hand(path)
    then = (*schema.STEPS, "ALTER TABLE log ADD COLUMN author TEXT;")
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="no such table: unknown"):
        schema.upgrade(connection, (*then, "INSERT INTO unknown VALUES (1);"))
    connection.close()
    connection = sqlite3.connect(path, isolation_level=None)
    assert columns(connection) == 7
    schema.upgrade(connection, then)
    assert columns(connection) == 8
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert connection.execute("SELECT count(*) FROM log").fetchone() == (3,)
    connection.close()
    assert "version 2 of the file, this one knows 1" in refused(tmp_path)
    with closing(schema.reader(path)) as reader:
        assert schema.is_current(reader, path, then)


def columns(connection: sqlite3.Connection) -> int:
    return len(connection.execute("PRAGMA table_info(log)").fetchall())
