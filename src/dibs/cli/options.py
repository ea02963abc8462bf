"""Options and arguments that several commands share, each said once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import click

from dibs.values.mistake import Mistake

Command = TypeVar("Command", bound=Callable[..., object])


SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
# Longer than any log or any patience, and short enough for every clock.
LONGEST_S = 1e10


def seconds(text: str) -> float | None:
    """A length of time, such as 90, 30s, 2m, 1.5h or 7d, in seconds; None when it is none."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhd]?)", text)
    return min(float(found[1]) * SECONDS[found[2]], LONGEST_S) if found else None


def timeout(default: str) -> Callable[[Command], Command]:
    def read(context: object, option: object, text: str) -> float:
        found = seconds(text)
        if found is None:
            raise Mistake(
                f"{text!r} is no length of time", path="--timeout", remedy="as in 30s, 2m or 1h"
            )
        return found

    return click.option(
        "--timeout",
        "timeout_s",
        default=default,
        metavar="TIME",
        show_default=True,
        callback=read,
        help="How long to wait: 30s, 2m, 1h.",
    )


def files(command: Command) -> Command:
    """`-f`, repeatable, and whether what it reads is validated."""
    command = click.option(
        "--no-validate",
        is_flag=True,
        help="Decide also on objects that an API server would refuse.",
    )(command)
    return click.option(
        "-f",
        "--filename",
        "paths",
        multiple=True,
        metavar="PATH",
        help="A file or folder of manifests, or - for standard input; may be repeated.",
    )(command)


def order(command: Command) -> Command:
    return click.option(
        "--order",
        type=click.Choice(["first-fit", "packed"]),
        default="first-fit",
        show_default=True,
        help="Nodes by name, or those first that have the fewest free devices.",
    )(command)


def output(*forms: str) -> Callable[[Command], Command]:
    """`-o`; the first form is the one for eyes, and `table` means it in every command."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(list(dict.fromkeys((*forms, "table")))),
        callback=lambda context, option, form: forms[0] if form == "table" else form,
        help=f"How to print; if not said, {forms[0]} on a terminal and JSON in a pipe.",
    )


def verbose(told: str) -> Callable[[Command], Command]:
    """`-v`, and what it tells more of."""
    return click.option("-v", "--verbose", is_flag=True, help=told)
