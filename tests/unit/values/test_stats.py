"""A bounded cache: it forgets the oldest, and says how it did."""

from __future__ import annotations

from dibs.values.stats import Kept, Stats


def test_no_more_than_the_bound_is_kept_and_the_oldest_goes() -> None:
    kept: Kept[int, str] = Kept("numbers", 2)
    for number in (1, 2, 3):
        assert kept.put(number, str(number)) == str(number)
    assert [kept.get(number) for number in (1, 2, 3)] == [None, "2", "3"]
    assert kept.stats == Stats("numbers", hits=2, misses=1, kept=2, bound=2, dropped=1)


def test_what_is_known_already_takes_no_room() -> None:
    kept: Kept[int, str] = Kept("numbers", 1)
    kept.put(1, "one")
    kept.put(1, "uno")
    assert kept.get(1) == "uno"
    assert kept.stats.dropped == 0


def test_it_is_told_in_words() -> None:
    assert str(Stats("selectors", 9, 1, 1, 512)) == (
        "selectors: 9 of 10 known (90%), 1 of at most 512 kept"
    )
    assert str(Stats("answers", 0, 0, 0, 8, 3)).endswith("(0%), 0 of at most 8 kept, 3 dropped")


def test_a_heavy_entry_makes_several_go() -> None:
    kept: Kept[int, str] = Kept("texts", 4, len)
    for number, text in enumerate(("a", "bb", "ccc", "dddddd")):
        kept.put(number, text)
    assert list(kept.of.values()) == ["dddddd"]
    kept.put(9, "e")
    assert kept.stats == Stats("texts", 0, 0, kept=1, bound=4, dropped=4)
