"""All that is measured, in the order in which it is told; one file a kind of question."""

from bench.case import Case
from bench.cases import (
    commands,
    everyday,
    filling,
    hard,
    instances,
    plane,
    selectors,
    sizes,
    snapshots,
    upstream,
)

ALL: tuple[Case, ...] = (
    *everyday.CASES,
    *hard.CASES,
    *instances.CASES,
    *upstream.CASES,
    *filling.CASES,
    *sizes.CASES,
    *snapshots.CASES,
    *selectors.CASES,
    *plane.CASES,
    *commands.CASES,
)
