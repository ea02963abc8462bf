"""Everything the API refuses, in its own words: `rules.validate(obj, old, context=…)`.

One file a kind or a part of one; each rule is a function that yields the faults it sees, and none
raises. Feature gates are those of Kubernetes 1.37, all on. What the rules need from the compiler
and the cluster comes in as `Context`. Decisions: designs/010.
"""

from dibs.model.rules.check import validate, validate_as_found, validate_status
from dibs.model.rules.context import Context, SelectorFault
from dibs.model.rules.faults import FaultType, FieldFault
from dibs.model.rules.paths import as_v1beta1

__all__ = [
    "Context",
    "FaultType",
    "FieldFault",
    "SelectorFault",
    "as_v1beta1",
    "validate",
    "validate_as_found",
    "validate_status",
]
