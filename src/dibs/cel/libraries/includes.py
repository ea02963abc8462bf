"""`x.includes(v)`: one spelling for an attribute that may be a value or a list (KEP-5491).

Its own library, since a feature gate decides whether it compiles in new objects.
"""

from __future__ import annotations

from dibs.cel import runtime
from dibs.cel.declare import Library, member
from dibs.cel.runtime import EvaluationError, Value
from dibs.cel.types import BOOL, DYN

# resource.k8s.io: the most values an attribute can have.
_MOST_VALUES = 48


def includes(target: Value, wanted: Value) -> bool:
    """Whether a list has an equal element, or a value that is no list is equal itself.

    What does not compare is unequal. Raises once the search reaches a 49th element.
    """
    if type(target) is not tuple:
        return runtime.same(target, wanted)
    for item in target[:_MOST_VALUES]:
        if runtime.same(item, wanted):
            return True
    if len(target) > _MOST_VALUES:
        raise EvaluationError(
            f"'includes' function cannot be applied to lists longer than {_MOST_VALUES} values"
        )
    return False


LIBRARY = Library(
    "dra.includes", tuple(member("includes", ("dra_includes_dyn_dyn", (DYN, DYN), BOOL, includes)))
)
