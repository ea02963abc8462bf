"""Everything the API refuses, in its own words: `rules.validate(obj, old, context=…)`.

One file a kind or a part of one; each rule is a function that yields the faults it sees, and none
raises. Feature gates are those of Kubernetes 1.37, all on. What the rules need from the compiler
and the cluster comes in as `Context`. Paths are those of v1; `versions.written` has them as the
file wrote them. Decisions: designs/010.
"""

from dibs.model.rules.check import validate, validate_as_found, validate_status
from dibs.model.rules.context import Context, SelectorFault
from dibs.model.rules.faults import FaultType, FieldFault

__all__ = [
    "Context",
    "FaultType",
    "FieldFault",
    "SelectorFault",
    "validate",
    "validate_as_found",
    "validate_status",
]
