"""Watches without HTTP: what falls between, what is forgotten, what bookmarks say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dibs.api import deletes, kinds, reads, watches, writes
from dibs.api.calls import Call, DeleteOptions, ListOptions, Tree, WatchOptions, WriteOptions
from dibs.api.failures import Failure
from dibs.api.plane import Plane
from dibs.api.watches import Change
from dibs.store.faults import TooSlow
from dibs.testing.apiserver import on_a_plane

MAPS = kinds.find("", "v1", "configmaps")
assert MAPS
ALL = Call("watch", MAPS, "v1")
BRIEFLY = WatchOptions(timeout_s=0.02)


async def put(plane: Plane, name: str, **data: str) -> str:
    tree: Tree = {"metadata": {"name": name}, "data": data}
    call = replace(ALL, verb="create", namespace="default")
    written = await writes.create(plane, call, tree, WriteOptions())
    return str(written.tree["metadata"]["resourceVersion"])


async def remove(plane: Plane, name: str) -> None:
    call = replace(ALL, verb="delete", namespace="default", name=name)
    await deletes.delete(plane, call, DeleteOptions())


async def seen(plane: Plane, options: WatchOptions) -> list[Change]:
    found: list[Change] = []
    async for portion in watches.changes(plane, watches.start(plane, ALL, options)):
        found += portion
    return found


def told(changes: list[Change]) -> list[tuple[str, str]]:
    return [(each.type, each.entry.key.name if each.entry else "") for each in changes]


@on_a_plane
async def test_without_a_revision_the_state_comes_first(plane: Plane) -> None:
    await put(plane, "a")
    assert told(await seen(plane, BRIEFLY)) == [("ADDED", "a")]


@on_a_plane
async def test_from_a_revision_only_what_came_after(plane: Plane) -> None:
    first = await put(plane, "a")
    await put(plane, "b")
    await remove(plane, "a")
    changes = await seen(plane, replace(BRIEFLY, revision=first))
    assert told(changes) == [("ADDED", "b"), ("DELETED", "a")]
    assert [each.revision for each in changes] == [int(first) + 1, int(first) + 2]
    assert changes[-1].entry
    assert changes[-1].entry.mod_revision == int(first) + 2


@on_a_plane
async def test_what_happens_while_the_state_is_sent_is_told(plane: Plane) -> None:
    await put(plane, "a")
    started = watches.start(plane, ALL, BRIEFLY)
    await put(plane, "b")
    found = [change async for portion in watches.changes(plane, started) for change in portion]
    assert told(found) == [("ADDED", "a"), ("ADDED", "b")]


@on_a_plane
async def test_a_quiet_watch_is_given_bookmarks(plane: Plane) -> None:
    await put(plane, "a")
    options = replace(BRIEFLY, revision=str(plane.store.revision), bookmarks=True)
    [bookmark] = await seen(plane, options)
    assert (bookmark.type, bookmark.revision) == ("BOOKMARK", plane.store.revision)


@on_a_plane
async def test_changes_of_one_name_are_told_of_that_alone(plane: Plane) -> None:
    await put(plane, "a")
    await put(plane, "b")
    options = replace(BRIEFLY, field_selector="metadata.name=b")
    assert told(await seen(plane, options)) == [("ADDED", "b")]


@on_a_plane
async def test_a_revision_that_is_forgotten_is_gone(plane: Plane) -> None:
    await put(plane, "a")
    await plane.store.compact(plane.store.revision)
    with pytest.raises(Failure) as caught:
        watches.start(plane, ALL, replace(BRIEFLY, revision="1"))
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


@on_a_plane
async def test_a_watch_that_is_too_slow_ends(plane: Plane) -> None:
    started = watches.start(plane, ALL, replace(BRIEFLY, revision=await put(plane, "a")))
    await put(plane, "b")
    await plane.store.compact(plane.store.revision)
    with pytest.raises(TooSlow):
        [portion async for portion in watches.changes(plane, started)]


@on_a_plane
async def test_a_list_that_can_not_go_on_says_where_it_may(plane: Plane) -> None:
    for name in ("a", "b", "c"):
        await put(plane, name)
    first = reads.listed(plane.store, plane.reader, ALL, ListOptions(limit=2))
    await remove(plane, "c")
    await plane.store.compact(plane.store.revision)
    more = ListOptions(continue_token=first.continue_token)
    with pytest.raises(Failure) as caught:
        reads.listed(plane.store, plane.reader, ALL, more)
    assert caught.value.code == 410
    fresh = ListOptions(continue_token=caught.value.continue_token)
    assert reads.listed(plane.store, plane.reader, ALL, fresh).entries == ()
