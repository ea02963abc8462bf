"""Which taints of a device keep a request from it (KEP-5055).

Only NoSchedule and NoExecute block; None and effects of later versions are advice. How long a
toleration holds is the evicting controller's matter, not allocation's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dibs.model.objects import DeviceTaint, DeviceToleration

BLOCKING = ("NoSchedule", "NoExecute")


def blocking(taints: Iterable[DeviceTaint]) -> tuple[DeviceTaint, ...]:
    return tuple(taint for taint in taints if taint.effect in BLOCKING)


def first_untolerated(
    taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]
) -> DeviceTaint | None:
    """The first of the (blocking) taints that no toleration covers."""
    for taint in taints:
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case _:
            return False


def text_of(taint: DeviceTaint) -> str:
    """As kubectl writes it: key=value:effect."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
