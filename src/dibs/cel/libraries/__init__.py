"""Every function of the selector language, one file a library.

`ALL` is what Kubernetes offers to device selectors; `includes` is a library of its own because
a feature gate decides on it. What a call costs is said elsewhere (`cel/prices.py`).
"""

from dibs.cel.declare import Library
from dibs.cel.libraries import (
    addresses,
    arithmetic,
    comprehensions,
    conversions,
    formats,
    includes,
    lists,
    optionals,
    quantities,
    regexes,
    sets,
    standard,
    strings,
    timestamps,
    urls,
    versions,
)

ALL: tuple[Library, ...] = (
    standard.LIBRARY,
    arithmetic.LIBRARY,
    conversions.LIBRARY,
    timestamps.LIBRARY,
    optionals.LIBRARY,
    strings.LIBRARY,
    regexes.LIBRARY,
    lists.LIBRARY,
    lists.EXTENDED,
    sets.LIBRARY,
    comprehensions.LIBRARY,
    urls.LIBRARY,
    addresses.LIBRARY,
    quantities.LIBRARY,
    versions.LIBRARY,
    formats.LIBRARY,
    includes.LIBRARY,
)

__all__ = ["ALL", "Library"]
