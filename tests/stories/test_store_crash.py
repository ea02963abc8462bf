"""Writers are killed at any moment, again and again: what they were told is what is there.

Every acknowledged transaction stands at the revisions that were named; of one without an answer
all is there, or nothing; what stands is what all known writes add up to.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from dibs.store import opening
from dibs.store.records import Event
from dibs.testing import writers

pytestmark = pytest.mark.slow

KILLS = 20
LONG_KILLS = 200


@dataclass
class Witness:
    """What is known of the store: by revision, the key and value that were written."""

    asked: dict[str, dict[str, str | None]] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    known: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def hear(self, lines: list[str]) -> None:
        for line in lines:
            word, number, rest = (line + "  ").split(" ", 2)
            if word == "ask":
                self.asked[number] = json.loads(rest)
            elif word == "told":
                self.told[number] = int(rest)
                for revision, write in enumerate(self.asked[number].items(), int(rest)):
                    assert revision not in self.known, line
                    self.known[revision] = write
            elif word == "no":
                del self.asked[number]

    def see(self, events: list[Event]) -> None:
        for event in events:
            value = event.after.value.decode() if event.after else None
            written = (str(event.key), value)
            assert self.known.setdefault(event.revision, written) == written

    def check(self, revision: int, stands: dict[str, str]) -> None:
        """Compare all that is known with the store; what had no answer is decided by now."""
        assert sorted(self.known) == list(range(1, revision + 1))
        seen: dict[str, int] = {}
        added_up: dict[str, str | None] = {}
        for _, (key, value) in sorted(self.known.items()):
            added_up[key] = value
            if value is not None:
                number = value.split()[0]
                seen[number] = seen.get(number, 0) + 1
        assert stands == {key: value for key, value in added_up.items() if value is not None}
        for number, writes in self.asked.items():
            puts = sum(value is not None for value in writes.values())
            halves = (puts,) if number in self.told else (0, puts)
            assert seen.get(number, 0) in halves, (number, writes)


async def look(folder: Path, witness: Witness) -> None:
    store = await opening.in_folder(folder, writers.KEEP)
    revision, oldest = store.revision, store.oldest
    assert revision >= max(witness.known, default=0)
    events = await store.watch(since=oldest).take(most=100_000, wait_s=0)
    assert len(events) == revision - oldest
    witness.see(list(events))
    page = store.page("pods")
    witness.check(revision, {str(e.key): e.value.decode() for e in page.entries})
    await store.close()


def spoken(folder: Path, round_: int, wait_s: float) -> list[str]:
    """Start writers, kill them, and return their whole lines."""
    command = [sys.executable, "-m", "dibs.testing.writers", str(folder), str(round_)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stderr
        assert child.stdout.readline() == b"ready\n", child.stderr.read()
        # A full pipe would hold up the writers, so it is read while they write.
        killer = subprocess.Popen(["/bin/sh", "-c", f"sleep {wait_s:.4f}; kill -KILL {child.pid}"])
        said = child.stdout.read().decode()
        killer.wait()
    assert child.returncode == -signal.SIGKILL
    return said[: said.rfind("\n")].splitlines()


def test_killed_at_any_moment(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    profile = request.config.getoption("--hypothesis-profile")
    kills = LONG_KILLS if profile == "long" else KILLS
    chance = Random(time.time_ns() if profile == "long" else 7)
    folder = tmp_path / "data"
    witness = Witness()
    undecided = 0
    for round_ in range(kills):
        witness.hear(spoken(folder, round_, chance.uniform(0, 0.3)))
        undecided += len(witness.asked.keys() - witness.told.keys())
        asyncio.run(look(folder, witness))
        # What had no answer is settled: it is known now, or it never was.
        witness.asked = {n: writes for n, writes in witness.asked.items() if n in witness.told}
    assert len(witness.told) > 10 * kills
    assert undecided > kills


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The limit is the process's, and the errors are the system's own: the store goes on."""
    code = """
import asyncio, resource, signal, sys
from pathlib import Path
from dibs.store import opening
from dibs.store.faults import NotWritten
from dibs.store.records import Key, Put

async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = await opening.in_folder(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    watch = store.watch()
    refused = 0
    for number in range(300):
        try:
            await store.put(Key("pods", "", f"p{number % 50}"), b"x" * 10_000)
        except NotWritten as error:
            refused += 1
            assert "store.db" in str(error), error
    taken = 300 - refused
    assert taken > 10, taken
    assert refused > 10, refused
    assert len(await watch.take()) == store.revision == taken
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    entry = await store.put(Key("pods", "", "last"), b"")
    assert entry.mod_revision == taken + 1
    print(entry.mod_revision)
    await store.close()

asyncio.run(main())
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    async def reopened() -> int:
        store = await opening.in_folder(tmp_path)
        await store.close()
        return store.revision

    assert asyncio.run(reopened()) == int(done.stdout)
