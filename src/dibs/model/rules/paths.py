"""Field paths as a user of v1beta1 wrote the fields.

Rules see v1 only. Under v1beta1 a request was flat and a device nested in `basic`; a fault of
such a file is told in its own words. v1beta2 has the paths of v1.
"""

from __future__ import annotations

import re

_EXACTLY = re.compile(r"^(spec\.(?:spec\.)?devices\.requests\[\d+\])\.exactly(?=\.|$)")
_DEVICE = re.compile(r"^(spec\.devices\[\d+\])\.(?!name$|basic\b)")


def as_v1beta1(path: str) -> str:
    """`…requests[0].exactly.count` → `…requests[0].count`; `spec.devices[0].x` → `….basic.x`."""
    if match := _EXACTLY.match(path):
        return match.group(1) + path[match.end() :]
    return _DEVICE.sub(r"\1.basic.", path)
