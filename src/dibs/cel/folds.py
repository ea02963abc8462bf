"""Loops and bound names: each macro's fold as a closure of its own.

An error in a turn is a value of the accumulator: it is kept while the loop goes on, and absorbed
if `all` or `exists` is decided after all. Charges a turn: see the expansions in `macros`.
Source: the CEL specification, "macros"; the cost rules of cel-go's interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dibs.cel import runtime, sizes
from dibs.cel.code import Evaluate, Run
from dibs.cel.libraries import comprehensions
from dibs.cel.runtime import CostLimitExceeded, EvaluationError, Value


@dataclass(frozen=True, slots=True)
class Loop:
    """The range of a fold and the slots its variables live in; `second` is -1 for one variable."""

    range: Evaluate
    first: int
    second: int

    def turns(self, run: Run) -> Iterator[None]:
        """Yield once a turn, with the loop variables set and the limit looked at."""
        items = self.range(run)
        slots, first, second = run.slots, self.first, self.second
        if second < 0:
            for item in runtime.iterate(items):
                run.turn()
                slots[first] = item
                yield
        else:
            for key, item in runtime.iterate_pairs(items):
                run.turn()
                slots[first] = key
                slots[second] = item
                yield


def decided(loop: Loop, predicate: Evaluate, decisive: bool) -> Evaluate:
    """`all` (`decisive` false) and `exists` (true)."""
    condition = 3 if decisive else 2
    neutral = not decisive

    def run(run: Run) -> Value:
        failed: EvaluationError | None = None
        is_decided = False
        for _ in loop.turns(run):
            run.cost += condition
            if is_decided:
                # Only now does the condition find out.
                break
            run.cost += 1
            try:
                value = predicate(run)
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = failed or error
                continue
            if value is decisive:
                is_decided = True
            elif value is not neutral:
                failed = failed or runtime.no_overload()
        run.cost += 1
        if is_decided:
            return decisive
        if failed is not None:
            raise failed
        return neutral

    return run


def counted(loop: Loop, predicate: Evaluate) -> Evaluate:
    """`exists_one`: exactly one turn holds."""

    def run(run: Run) -> Value:
        count = 0
        failed: EvaluationError | None = None
        for _ in loop.turns(run):
            try:
                holds = _verdict(predicate(run))
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = error
                continue
            if holds:
                run.cost += 2
                count += 1
        run.cost += 2
        if failed is not None:
            raise failed
        return count == 1

    return run


def _verdict(value: Value) -> bool:
    if value is True or value is False:
        return value
    raise runtime.no_overload()


def collected(loop: Loop, kept: Evaluate | None, each: Evaluate, *, is_constant: bool) -> Evaluate:
    """`map`, `filter`, `transformList`. A list of one constant is made beforehand, for free."""
    list_charge = 0 if is_constant else sizes.LIST

    def run(run: Run) -> Value:
        items: list[Value] = []
        failed: EvaluationError | None = None
        for _ in loop.turns(run):
            try:
                if kept is not None and not _verdict(kept(run)):
                    continue
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = error
                continue
            run.cost += 1
            try:
                items.append(each(run))
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = failed or error
            run.charge(list_charge)
            run.cost += 1
        run.cost += 1
        if failed is not None:
            raise failed
        return tuple(items)

    return run


def entered(loop: Loop, kept: Evaluate | None, key: Evaluate | None, each: Evaluate) -> Evaluate:
    """`transformMap`, and without `key` `transformMapEntry`, whose values are maps."""

    def run(run: Run) -> Value:
        entries = runtime.Map()
        failed: EvaluationError | None = None
        for _ in loop.turns(run):
            try:
                if kept is not None and not _verdict(kept(run)):
                    continue
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = error
                continue
            run.cost += 1
            if failed is not None and key is not None:
                # The accumulator comes first of three arguments: with it failed, that is all.
                continue
            try:
                _enter(run, entries, key, each)
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = failed or error
        run.cost += 1
        if failed is not None:
            raise failed
        return entries

    return run


def _enter(run: Run, entries: runtime.Map, key: Evaluate | None, each: Evaluate) -> None:
    name = key(run) if key is not None else None
    try:
        more = each(run)
    finally:
        run.cost += 1
    if key is not None:
        comprehensions.insert_into(entries, name, more)
        return
    if not isinstance(more, runtime.Map):
        raise runtime.no_overload()
    for name in runtime.keys_of(more):
        comprehensions.insert_into(entries, name, runtime.lookup(more, name))


class _Unset:
    """A bound name that nobody has asked for yet."""


UNSET = _Unset()


def bound(slot: int, result: Evaluate) -> Evaluate:
    """`cel.bind`: the value is computed when the name is first used (see `bound_name`)."""

    def run(run: Run) -> Value:
        # `optMap` evaluates its target twice, so a chain of them is a loop in disguise.
        run.turn()
        before = run.slots[slot]
        run.slots[slot] = UNSET
        try:
            return result(run)
        finally:
            run.slots[slot] = before

    return run


def bound_name(slot: int, value: Evaluate) -> Evaluate:
    """Fetch a bound name, computing it once; its error is the same each time."""

    def fetch(run: Run) -> Value:
        found = run.slots[slot]
        if found is UNSET:
            try:
                found = value(run)
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                run.slots[slot] = error
                raise
            run.slots[slot] = found
        elif isinstance(found, EvaluationError):
            # Without this the one error would gather a traceback for each of its uses.
            raise found.with_traceback(None)
        return found

    return fetch


def slot_name(slot: int) -> Evaluate:
    """Fetch a loop variable."""

    def fetch(run: Run) -> Value:
        return run.slots[slot]

    return fetch
