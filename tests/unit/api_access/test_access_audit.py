"""The audit log: what is remembered, what is found again, and what a full disk does to it."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from dibs.api.access import audit, tokens
from dibs.api.access.audit import Filter, Log
from dibs.api.access.guard import Guard
from dibs.api.calls import Asked, Caller
from dibs.api.gate import Account, Credentials, Record
from dibs.values.mistake import Mistake

ADA = Caller("ada", ("dibs:user:team-a",))
NOW = 1_800_000_000.0


def claim(*devices: str, pod: str = "") -> dict[str, Any]:
    results = [dict(zip(("driver", "pool", "device"), d.split("/"), strict=True)) for d in devices]
    status: dict[str, Any] = {"allocation": {"devices": {"results": results}}} if results else {}
    if pod:
        status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": "1"}]
    return {"metadata": {"name": "train", "namespace": "team-a"}, "status": status}


def record(verb: str = "update", code: int = 200, **more: Any) -> Record:
    asked = Asked(verb, "resource.k8s.io", "resourceclaims", "status", "team-a", "train")
    return Record(ADA, asked, code, **more)


def test_who_got_which_device_is_told() -> None:
    held = claim("d/node-a/gpu-0", pod="train-0")
    line = audit.entry(record(before=claim(), after=held), NOW)
    assert line is not None
    assert line.allocated == ("d/node-a/gpu-0",)
    assert line.pods == ("train-0",)
    assert line.time == "2027-01-15T08:00:00.000+00:00"
    line = audit.entry(record(before=held, after=claim()), NOW)
    assert line is not None
    assert (line.allocated, line.released) == ((), ("d/node-a/gpu-0",))
    line = audit.entry(record("delete", before=held), NOW)
    assert line is not None
    assert line.released == ("d/node-a/gpu-0",)


def test_a_dry_run_gave_nothing_to_anybody() -> None:
    line = audit.entry(record(before=claim(), after=claim("d/p/gpu-0"), is_dry=True), NOW)
    assert line is not None
    assert (line.dry_run, line.allocated, line.name) == (True, (), "train")


def test_where_a_pod_went_is_told() -> None:
    asked = Asked("create", "", "pods", "binding", "team-a", "p")
    before, after = {"spec": {}}, {"spec": {"nodeName": "node-a"}}
    line = audit.entry(Record(ADA, asked, 201, before=before, after=after), NOW)
    assert line is not None
    assert line.node == "node-a"


def test_reading_is_not_remembered_but_what_is_refused_is() -> None:
    assert audit.entry(record("list"), NOW) is None
    assert audit.entry(record("list", 403), NOW) is not None
    assert audit.entry(record("create", 409), NOW) is not None


def test_hostile_objects_and_names_break_nothing() -> None:
    for status in (None, [], {"allocation": "x"}, {"allocation": {"devices": {"results": [1]}}}):
        line = audit.entry(record(after={"status": status}, user_agent="x" * 10_000), NOW)
        assert line is not None
        assert len(line.user_agent) == audit.MAX_TEXT


def test_what_was_written_is_found_again(tmp_path: Path) -> None:
    log = Log.in_folder(tmp_path)
    for number in range(4):
        write(log, claim(), claim(f"d/node-a/gpu-{number}"), NOW + number)
    write(log, claim("d/node-a/gpu-3"), claim(), NOW + 10)
    log.close()
    assert len(audit.read(tmp_path, Filter()).entries) == 5
    assert [e.code for e in audit.read(tmp_path, Filter(device="gpu-3")).entries] == [200, 200]
    assert len(audit.read(tmp_path, Filter(device="node-a/gpu-3")).entries) == 2
    # A part that doesn't end at a slash is another device.
    assert not audit.read(tmp_path, Filter(device="gpu")).entries
    assert not audit.read(tmp_path, Filter(device="u-3")).entries
    since = Filter(since="2027-01-15T08:00:03", until="2027-01-15T08:00:04")
    assert len(audit.read(tmp_path, since).entries) == 1
    assert len(audit.read(tmp_path, Filter(resource="resourceclaims")).entries) == 5
    assert not audit.read(tmp_path, Filter(user="eve")).entries
    assert len(audit.read(tmp_path, Filter(), newest=2).entries) == 2
    assert audit.read(tmp_path, Filter(), newest=1).entries[0].released == ("d/node-a/gpu-3",)


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    Log.in_folder(tmp_path).close()
    assert (tmp_path / audit.NAME).stat().st_mode & 0o777 == 0o600


def test_old_files_are_set_aside_and_the_oldest_go(tmp_path: Path) -> None:
    log = Log(tmp_path / audit.NAME, max_bytes=1000, kept_files=2)
    for number in range(40):
        write(log, claim(), claim(f"d/p/gpu-{number}"), NOW + number)
    log.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(sizes) == ["audit.log", "audit.log.1", "audit.log.2"]
    assert all(size <= 1000 for size in sizes.values())
    found = [entry.allocated[0] for entry in audit.read(tmp_path, Filter()).entries]
    assert found == [f"d/p/gpu-{number}" for number in range(40)][-len(found) :]
    assert len(found) > 2


def test_a_broken_line_is_counted_and_passed_over(tmp_path: Path) -> None:
    log = Log.in_folder(tmp_path)
    write(log, claim(), claim("d/p/a"), NOW)
    with (tmp_path / audit.NAME).open("ab") as file:
        file.write(b'{"time": "half a li\n')
    write(log, claim(), claim("d/p/b"), NOW)
    log.close()
    told = audit.read(tmp_path, Filter())
    assert (len(told.entries), told.unreadable) == (2, 1)


def test_a_full_disk_loses_lines_and_says_how_many(tmp_path: Path) -> None:
    log = Log.in_folder(tmp_path)
    write(log, claim(), claim("d/p/a"), NOW)
    size = (tmp_path / audit.NAME).stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Without this the system ends who writes past the limit.
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
    try:
        write(log, claim(), claim("d/p/b"), NOW)
        write(log, claim(), claim("d/p/c"), NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert (tmp_path / audit.NAME).stat().st_size == size
    write(log, claim(), claim("d/p/d"), NOW)
    log.close()
    told = audit.read(tmp_path, Filter())
    assert [entry.lost for entry in told.entries] == [0, 2]
    assert told.unreadable == 0


def test_a_log_that_is_a_link_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / audit.NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Mistake, match="can't be written"):
        Log.in_folder(tmp_path)
    assert (tmp_path / "elsewhere").read_text() == "kept"
    with pytest.raises(Mistake, match="no audit log"):
        audit.read(tmp_path / "nothing here", Filter())


def test_the_guard_puts_it_together(tmp_path: Path) -> None:
    signer = tokens.in_folder(tmp_path)
    log = Log.in_folder(tmp_path)
    guard = Guard(signer, lambda account: True, log, lambda: NOW)
    token, _ = signer.token(Account("team-a", "robot", "1"), NOW)
    caller = guard.who(Credentials(f"Bearer {token}"))
    assert caller is not None
    asked = Asked("create", "resource.k8s.io", "resourceclaims", "", "team-a", "train")
    assert guard.refusal(caller, asked) is None
    assert guard.objection(caller, asked, None, claim()) is None
    guard.note(Record(caller, asked, 201, after=claim()))
    log.close()
    assert audit.read(tmp_path, Filter()).entries[0].user == caller.name


def write(log: Log, before: dict[str, Any], after: dict[str, Any], now: float) -> None:
    line = audit.entry(record(before=before, after=after), now)
    assert line is not None
    log.write(line)
