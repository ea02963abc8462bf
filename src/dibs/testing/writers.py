"""Random writers over a store, who say what they ask for and what they are told; made to be killed.

`python -m dibs.testing.writers FOLDER ROUND` writes until it is killed. On standard output, one
line each, at once: `ready`; `ask NUMBER {key: value or null}`, before; `told NUMBER REVISION`,
after, with the first revision of the transaction; `no NUMBER` for a conflict. `NUMBER` is
`ROUND.COUNT`, and stands in every value.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from pathlib import Path
from random import Random

from dibs.store import opening
from dibs.store.faults import Conflict
from dibs.store.records import Delete, Keep, Key, Put, Write
from dibs.store.store import Store

WRITERS = 8
KEYS = [Key("pods", namespace, f"pod-{index}") for namespace in "ab" for index in range(20)]
# More than all writers have under way, so that nothing is forgotten before it is looked at.
KEEP = Keep(revisions=200, age_s=0.0)


def say(word: str, *told: object) -> None:
    # Past Python's buffers: what was said is said, whatever happens next.
    os.write(1, (" ".join([word, *map(str, told)]) + "\n").encode())


def transaction(number: str, store: Store, chance: Random) -> list[Write]:
    chosen = chance.sample(KEYS, chance.randint(1, 3))
    return [_write(key, number, store, chance) for key in chosen]


def _write(key: Key, number: str, store: Store, chance: Random) -> Write:
    entry = store.get(key)
    if entry and chance.random() < 0.3:
        return Delete(key, entry.mod_revision)
    size = chance.choice((0, 10, 1_000, 20_000))
    expected = entry.mod_revision if entry else 0
    return Put(key, f"{number} {'x' * size}".encode(), chance.choice((None, expected)))


async def write(store: Store, numbers: itertools.count[int], round_: str) -> None:
    chance = Random(f"{round_}/{next(numbers)}")
    while True:
        number = f"{round_}.{next(numbers)}"
        writes = transaction(number, store, chance)
        say("ask", number, json.dumps({str(w.key): _value(w) for w in writes}))
        try:
            events = await store.commit(*writes)
        except Conflict:
            say("no", number)
        else:
            say("told", number, events[0].revision)


def _value(write: Write) -> str | None:
    return write.value.decode() if isinstance(write, Put) else None


async def main(folder: Path, round_: str) -> None:
    store = await opening.in_folder(folder, KEEP)
    say("ready")
    numbers = itertools.count()
    await asyncio.gather(*(write(store, numbers, round_) for _ in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
