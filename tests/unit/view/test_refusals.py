"""How refusals are grouped and worded, where that doesn't show in whole trees."""

from __future__ import annotations

from dibs.allocate import overlaps
from dibs.allocate.outcome import AskNo, DeviceNo, Reason, Refused, TimedOut
from dibs.allocate.overlaps import Overlap
from dibs.schedule.plan import NodeAnswer, Objection
from dibs.supply.identity import CounterId, DeviceId, PoolId
from dibs.supply.ledger import Holder
from dibs.supply.pools import PoolFault
from dibs.view import causes, refusals, tree


def no(device: str, text: str, holder: str = "", code: str = "") -> DeviceNo:
    code = code or ("held" if holder else "counter")
    found = Holder(holder) if holder else None
    return DeviceNo(DeviceId("d", "p", device), Reason(code, text, found))


def refused(node: str, *noes: DeviceNo, fit: int = 0, wanted: int = 1) -> Refused:
    ask = AskNo("default/x", "gpu", wanted, len(noes) + fit, fit, noes)
    return Refused(node, (), (ask,))


def told(answers: dict[str, NodeAnswer], every_node: bool = False) -> list[str]:
    return [line.text for each in refusals.trees(answers, every_node) for line in tree.lines(each)]


def test_many_reasons_are_cut_but_holders_are_told() -> None:
    noes = [no(f"g{i}", f"counter {i}") for i in range(20)]
    lines = told({"n": refused("n", *noes, no("held", "allocated to default/a", "default/a"))})
    assert len(lines) == 1 + causes.MOST + 1
    assert lines[1].split() == ["1", "allocated", "to", "default/a"]
    assert lines[-1].split()[:2] == ["11", "for"]
    every = told({"n": refused("n", *noes)}, every_node=True)
    assert len(every) == 21


def test_devices_without_a_reason_are_counted() -> None:
    ask = AskNo("default/x", "gpu", 1, 5_001, 0, (no("g", "too small"),), untold=5_000)
    for every_node in (False, True):
        lines = told({"n": Refused("n", (), (ask,))}, every_node)
        assert lines[-1].split(None, 1) == [
            "5000",
            "further devices don't fit either; their reasons aren't told",
        ]


def test_nodes_that_may_not_be_used_come_last() -> None:
    answers: dict[str, NodeAnswer] = {
        "a": Objection("taint", "taint x is not tolerated"),
        "b": refused("b", no("g", "too small")),
        "c": Objection("taint", "taint x is not tolerated"),
    }
    assert [line.split()[0] for line in told(answers)] == ["b", "1", "a,"]


def test_equal_trouble_of_pools_is_one_group_whatever_they_are_called() -> None:
    def half(node: str) -> Refused:
        text = f"pool {node} is incomplete: 1 of 2 slices, generation 1"
        fault = PoolFault(PoolId("d", node), "incomplete", text)
        return Refused(node, (fault,), (AskNo("default/x", "gpu", 1, 0, 0),))

    groups = refusals.groups({name: half(name) for name in ("a", "b")})
    assert [group.nodes for group in groups] == [("a", "b")]


def test_a_cut_search_is_neither_yes_nor_no() -> None:
    assert told({"n": TimedOut("n", "gave up after 5 steps")}) == [
        "n  undecided: gave up after 5 steps"
    ]


def test_what_fits_alone_but_not_at_once() -> None:
    [line] = told({"n": refused("n", fit=3, wanted=2)})
    assert line == "n  3 of 3 fit request gpu, but not 2 at once"


def test_planned_holders_come_first_in_the_queue() -> None:
    held = no("g", "allocated to default/a", "default/a")
    answers = refusals.with_turns({"n": refused("n", held)}, frozenset({"default/a"}))
    assert told(answers)[1].split(None, 1)[1] == "goes to default/a, whose Pod comes first"


def test_what_is_left_of_a_shared_device_is_told_also_of_planned_holders() -> None:
    text = "memory: 20Gi of 80Gi left, 30Gi wanted; shared by default/a (60Gi)"
    short = no("g", text, "default/a", code="capacity")
    answers = refusals.with_turns({"n": refused("n", short)}, frozenset({"default/a"}))
    assert told(answers)[1].split(None, 1)[1] == text


def overlapping(node: str, device: str, slice_: int) -> DeviceNo:
    """A partition that is short of one slice, which chat on this node has."""
    counter = CounterId(PoolId("d", "p"), "card", f"slice-{slice_}")
    inside = Overlap(DeviceId("d", "p", "half"), f"default/chat-{node}", (counter,))
    text = f"{overlaps.text_of([inside])}; card/slice-{slice_}: 0 left, 1 needed"
    return DeviceNo(DeviceId("d", "p", device), Reason("counter", text, overlaps=(inside,)))


def quarters(node: str) -> Refused:
    return refused(node, *(overlapping(node, f"q-{number}", number) for number in range(3)))


def test_partitions_that_overlap_one_device_are_one_cause() -> None:
    [_, line] = told({"n": quarters("n")})
    assert line.split(None, 1) == [
        "3",
        "overlaps half, held by default/chat-n (slice-0 … 2 of card)",
    ]


def test_whom_they_overlap_does_not_keep_nodes_apart() -> None:
    [head, line] = told({"a": quarters("a"), "b": quarters("b")})
    assert head.startswith("a, b")
    assert line.split(None, 1)[1] == (
        "overlaps what other claims hold: default/chat-a, default/chat-b"
    )


def test_who_has_the_overlapped_only_by_the_plan_comes_first_in_the_queue() -> None:
    answers = refusals.with_turns({"n": quarters("n")}, frozenset({"default/chat-n"}))
    assert (
        "overlaps half, which goes to default/chat-n first (slice-0 … 2 of card)"
        in told(answers)[1]
    )


def test_values_that_a_selector_does_not_want_are_told_together() -> None:
    noes = [
        no(f"g{number}", f'size is "{size}", selector wants "half"', code="selector")
        for number, size in enumerate(["quarter", "whole", "quarter"])
    ]
    taint = no("t", "taint x is not tolerated", code="tainted")
    lines = told({"n": refused("n", *noes, taint)})
    assert [line.split(None, 1) for line in lines[1:]] == [
        ["1", "taint x is not tolerated"],
        ["3", 'size is "quarter", "whole", selector wants "half"'],
    ]


def test_a_fault_that_the_headline_quotes_is_said_once() -> None:
    text = "pool n is incomplete: 1 of 2 slices, generation 1"
    fault = PoolFault(PoolId("d", "n"), "incomplete", text)
    other = PoolFault(PoolId("d", "m"), "incomplete", "pool m is incomplete: 2 of 3 slices")
    note = f"a request asks for all devices, but {text}"
    lines = told({"n": Refused("n", (fault, other), (), note)})
    assert [line.split(maxsplit=1)[-1] if "all" in line else line.strip() for line in lines] == [
        note,
        other.text,
    ]
