"""Many names that differ by a number, in few words: `memory-slice-0 … 7`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dibs.view import words

NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)

# More than so many kinds of things are not told by name.
SHOWN = 4


def text_of(names: Sequence[str]) -> str:
    """`memory-slice-0 … 3, memory`: numbers that follow one another together, the rest by name.

    What is numbered comes first: it tells the places that are taken.
    """
    numbers: dict[str, list[int]] = {}
    for name in names:
        found = NUMBERED.fullmatch(name)
        if found and str(int(found[2])) == found[2]:
            numbers.setdefault(found[1], []).append(int(found[2]))
        else:
            numbers.setdefault(name, [])
    parts: list[str] = []
    for stem, known in numbers.items():
        parts += [_run(stem, run) for run in _following(sorted(set(known)))]
    parts += [stem for stem, known in numbers.items() if not known]
    return words.listed(parts, SHOWN)


def _following(numbers: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _run(stem: str, run: Sequence[int]) -> str:
    if len(run) == 1:
        return f"{stem}{run[0]}"
    return f"{stem}{run[0]} … {run[-1]}" if len(run) > 2 else f"{stem}{run[0]}, {run[1]}"
