"""Which revision a list is of, and where it goes on: resourceVersion, limit, continue.

A continue token names the revision of the first page, so that all pages show one moment; once that
is forgotten the client may go on at the present moment, with the token in the answer.
Source: Kubernetes API concepts, "Resource versions", "Retrieving large results sets in chunks".
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec

from dibs.api import failures
from dibs.api.calls import ListOptions

NEWEST = None


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """After which object a list goes on. `revision` 0 is whatever is there now."""

    revision: int
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Start:
    """`revision` None is the newest; the list must be of exactly that one otherwise."""

    revision: int | None
    after: tuple[str, str] | None = None


def start(options: ListOptions, current: int) -> Start:
    """Raises Failure: 422, 400 for options that contradict each other, 504 for a time to come."""
    if options.continue_token:
        if options.revision not in ("", "0"):
            raise failures.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        token = read_token(options.continue_token)
        return Start(token.revision or NEWEST, (token.namespace, token.name))
    asked = revision(options.revision)
    if options.match and not options.revision:
        raise _mismatch("Forbidden: is forbidden unless resourceVersion is provided")
    match options.match:
        case "":
            # With a limit a revision means exactly that one, as it did before there was a choice.
            is_exact = options.limit > 0 and asked > 0
        case "Exact":
            if asked == 0:
                raise _mismatch('Forbidden: "Exact" is forbidden for resourceVersion "0"')
            is_exact = True
        case "NotOlderThan":
            is_exact = False
        case _:
            raise _mismatch('Unsupported value: supported values: "Exact", "NotOlderThan"')
    if asked > current:
        raise failures.too_new(asked, current)
    return Start(asked if is_exact else NEWEST)


def _mismatch(why: str) -> failures.Failure:
    text = f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: {why}'
    return failures.Failure(422, "Invalid", text)


def revision(text: str) -> int:
    """Return the number of a resourceVersion, 0 for none. Raises Failure (400)."""
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        raise failures.bad_request(f'Invalid value: "{text[:40]}": resourceVersion is no number')
    return int(text)


def token_of(revision: int, place: tuple[str, str]) -> str:
    token = msgspec.json.encode(Token(revision, *place))
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def read_token(text: str) -> Token:
    """Raises Failure (400)."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        token = msgspec.json.decode(plain, type=Token)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise failures.bad_request("continue key is not valid") from None
    if not 0 <= token.revision < 2**63:
        raise failures.bad_request("continue key is not valid")
    return token


def expired(token: str) -> failures.Failure:
    """The list can't be gone on with as of its revision."""
    after = read_token(token)
    fresh = token_of(0, (after.namespace, after.name))
    return failures.expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list.",
        fresh,
    )
