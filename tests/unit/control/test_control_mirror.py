"""The mirror: newest wins, whoever tells it; listeners hear of each change once."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from dibs.client.cluster import Change, Ref, Synced
from dibs.control.mirror import Mirror
from dibs.model import kinds
from dibs.model.core import Node
from dibs.model.kinds import Known
from dibs.model.meta import ObjectMeta

NODES = next(kind for kind in kinds.KINDS if kind.name == "Node")
NAMES = ("a", "b", "c")


def ref(name: str) -> Ref:
    return Ref(NODES, "", name)


def node(name: str, revision: int) -> Node:
    return Node(metadata=ObjectMeta(name=name, resource_version=str(revision)))


def mirrored() -> tuple[Mirror, list[tuple[Known | None, Known | None]]]:
    mirror, heard = Mirror((NODES,)), []
    mirror.listen(lambda before, after: heard.append((before, after)))
    return mirror, heard


def test_what_we_wrote_is_there_before_the_watch_tells() -> None:
    mirror, heard = mirrored()
    mirror.wrote(node("a", 5))
    mirror.take(Change(ref("a"), node("a", 3), 3))
    mirror.take(Change(ref("a"), node("a", 5), 5))
    assert mirror.get(ref("a")) == node("a", 5)
    assert heard == [(None, node("a", 5))]


def test_a_late_word_brings_nothing_back() -> None:
    mirror, heard = mirrored()
    mirror.take(Change(ref("a"), node("a", 1), 1))
    mirror.take(Change(ref("a"), None, 4))
    mirror.wrote(node("a", 2))
    assert mirror.get(ref("a")) is None
    assert heard[-1] == (node("a", 1), None)
    mirror.take(Change(ref("a"), node("a", 6), 6))
    assert mirror.get(ref("a")) == node("a", 6)


def test_an_old_deletion_takes_nothing_new_away() -> None:
    mirror, _ = mirrored()
    mirror.wrote(node("a", 7))
    mirror.take(Change(ref("a"), None, 4))
    assert mirror.get(ref("a")) == node("a", 7)


def test_what_was_missed_is_gone_after_a_sync() -> None:
    mirror, heard = mirrored()
    mirror.take(Change(ref("a"), node("a", 1), 1))
    mirror.take(Change(ref("b"), node("b", 2), 2))
    mirror.wrote(node("c", 9))
    mirror.take(Synced(NODES, frozenset({ref("b")}), 5))
    assert set(mirror.all(NODES)) == {ref("b"), ref("c")}
    assert heard[-1] == (node("a", 1), None)


def test_a_late_answer_brings_nothing_back_that_a_sync_did_not_tell() -> None:
    """It was made, seen by a read, and gone, all between two looks of a watch."""
    mirror, heard = mirrored()
    mirror.take(Synced(NODES, frozenset(), 5))
    mirror.wrote(node("a", 3))
    assert mirror.get(ref("a")) is None
    mirror.wrote(node("a", 6))
    assert mirror.get(ref("a")) == node("a", 6)
    assert heard == [(None, node("a", 6))]


def test_a_late_listener_hears_what_is_there() -> None:
    mirror, _ = mirrored()
    mirror.take(Change(ref("a"), node("a", 1), 1))
    heard: list[tuple[Known | None, Known | None]] = []
    mirror.listen(lambda before, after: heard.append((before, after)))
    assert heard == [(None, node("a", 1))]


HISTORIES = st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=12)


@given(HISTORIES, st.randoms(use_true_random=False))
def test_any_order_of_telling_ends_the_same(
    history: list[tuple[str, bool]], chance: Random
) -> None:
    """Each event may come from the watch, from a write, twice and late; the end is the newest."""
    events = [
        Change(ref(name), None if gone else node(name, number), number)
        for number, (name, gone) in enumerate(history, 1)
    ]
    shuffled = [*events, *events]
    chance.shuffle(shuffled)
    mirror, heard = mirrored()
    for event in shuffled:
        mirror.take(event)
    newest = {event.ref: event.object for event in events}
    assert dict(mirror.all(NODES)) == {r: item for r, item in newest.items() if item is not None}
    # What listeners were told adds up to what is there.
    told: dict[str, Known | None] = {}
    for before, after in heard:
        item = after or before
        assert item is not None
        assert told.get(item.metadata.name) == before
        told[item.metadata.name] = after
    assert {name for name, item in told.items() if item} == {r.name for r in mirror.all(NODES)}
