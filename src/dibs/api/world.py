"""The world as it is: the clock of the machine, random ids. Tests bring one of their own."""

from __future__ import annotations

import secrets
import time
import uuid

from dibs.api.calls import World

# What names are made of: no vowels, so no words; none of the digits that look like letters.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def real() -> World:
    return World(
        time.time,
        lambda: str(uuid.uuid4()),
        lambda: "".join(secrets.choice(LETTERS) for _ in range(5)),
    )
