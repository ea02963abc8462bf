"""The scheduler's queue: order, rest and parking, against a plain model of the same rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dibs.control import queueing
from dibs.control.queueing import Queue, Rank
from dibs.schedule.snapshot import Key


def key(name: str) -> Key:
    return Key("default", name)


def rank(name: str, priority: int = 0, created: str = "2026-01-01") -> Rank:
    return Rank.of(key(name), priority, created)


def test_priority_comes_before_age_and_age_before_name() -> None:
    queue = Queue()
    for each in (rank("c"), rank("a", created="2026-01-02"), rank("b"), rank("z", priority=5)):
        queue.add(each)
    taken = [queue.take(0.0) for _ in range(5)]
    assert taken == [key("z"), key("b"), key("c"), key("a"), None]


def test_a_pod_that_failed_is_parked_until_something_happens() -> None:
    queue = Queue()
    queue.add(rank("a"))
    assert queue.take(0.0) == key("a")
    queue.fail(key("a"), 0.0)
    assert queue.take(200.0) is None
    queue.wake(key("a"), 200.0)
    assert queue.take(200.0) == key("a")


def test_it_rests_longer_after_each_failure() -> None:
    queue = Queue()
    queue.add(rank("a"))
    now, rests = 0.0, []
    for _ in range(6):
        assert queue.take(now) == key("a")
        queue.fail(key("a"), now)
        queue.wake(key("a"), now)
        due = queue.next_due()
        assert due is not None
        assert queue.take(due - 0.01) is None
        rests.append(due - now)
        now = due
    assert rests == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_rests_that_end_within_a_second_end_together() -> None:
    queue = Queue()
    for name, now in (("low", 0.2), ("high", 0.7)):
        queue.add(rank(name, priority=len(name)))
        queue.take(now)
        queue.fail(key(name), now)
        queue.wake(key(name), now)
    assert queue.take(1.9) is None
    assert queue.take(2.0) == key("high")


def test_what_happens_while_it_is_decided_on_is_not_lost() -> None:
    queue = Queue()
    queue.add(rank("a"))
    queue.take(0.0)
    assert queue.waiting() == (key("a"),)
    queue.wake(key("a"), 0.0)
    queue.fail(key("a"), 0.0)
    assert queue.waiting() == ()
    assert queue.take(1.0) == key("a")


def test_a_change_of_the_pod_itself_ends_its_rest() -> None:
    queue = Queue()
    queue.add(rank("a"))
    queue.take(0.0)
    queue.fail(key("a"), 0.0)
    queue.add(rank("a", priority=1))
    assert queue.take(0.0) == key("a")


def test_nobody_is_parked_for_ever() -> None:
    queue = Queue()
    queue.add(rank("a"))
    queue.take(0.0)
    queue.fail(key("a"), 0.0)
    assert queue.next_due() == queueing.LONGEST_PARKED_S
    assert queue.take(queueing.LONGEST_PARKED_S) == key("a")


def test_a_dropped_pod_is_gone_wherever_it_was() -> None:
    for fails in (0, 1, 2):
        queue = Queue()
        queue.add(rank("a"))
        if fails:
            queue.take(0.0)
            queue.fail(key("a"), 0.0)
        if fails == 2:
            queue.wake(key("a"), 0.0)
        queue.drop(key("a"))
        assert queue.take(1e9) is None
        assert len(queue) == 0
        assert queue.next_due() is None or queue.take(1e9) is None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "wake", "take", "fail", "rest", "drop", "wait")),
        st.sampled_from("abc"),
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(STEPS)
def test_nobody_is_taken_twice_nor_forgotten(steps: list[tuple[str, str, int]]) -> None:
    queue, now = Queue(), 0.0
    known: set[Key] = set()
    taken: set[Key] = set()
    for what, name, number in steps:
        pod = key(name)
        match what:
            case "add":
                queue.add(rank(name, priority=number))
                known.add(pod)
            case "wake":
                queue.wake(pod, now)
            case "take":
                found = queue.take(now)
                assert found not in taken
                if found is not None:
                    assert found in known
                    taken.add(found)
            case "fail" | "rest" if pod in taken:
                taken.discard(pod)
                getattr(queue, what)(pod, now)
            case "drop":
                queue.drop(pod)
                known.discard(pod)
                taken.discard(pod)
            case _:
                now += number
    # Whoever isn't taken comes again, at the latest when it has been parked for too long.
    left = known - taken
    now += queueing.LONGEST_PARKED_S + queueing.LONGEST_REST_S
    while (found := queue.take(now)) is not None:
        assert found in left
        left.discard(found)
    assert not left
