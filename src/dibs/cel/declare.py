"""How a function enters the language: a name, its overloads, and what runs.

The libraries declare, the checker resolves a call to the overloads that fit statically, and the
compiler picks among them by the classes of the arguments. What a call costs is said in `prices`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dibs.cel.types import Type


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of one function.

    `id` is cel-go's overload id where there is one ("starts_with_string"). For a member function
    the receiver is `params[0]`. `call` takes runtime values (`cel/runtime.py`) in the order of
    `params`, already of fitting classes, and returns one or raises `runtime.EvaluationError`.
    """

    id: str
    function: str
    params: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class Library:
    """A named set of overloads that enters the environment as one."""

    name: str
    overloads: tuple[Overload, ...]


def function(
    name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., Any]]
) -> Iterable[Overload]:
    """Declare global overloads of `name`: (id, params, result, call) each."""
    return tuple(Overload(id, name, params, result, call) for id, params, result, call in overloads)


def member(
    name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., Any]]
) -> Iterable[Overload]:
    """Declare receiver-style overloads of `name`; `params[0]` is the receiver."""
    return tuple(
        Overload(id, name, params, result, call, is_member=True)
        for id, params, result, call in overloads
    )
