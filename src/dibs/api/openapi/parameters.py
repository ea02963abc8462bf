"""The parameters of requests, as OpenAPI has them; which operation takes which is `operations`'.

They are written out at each operation: kubectl looks there for `fieldValidation` and follows no
reference.
"""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]

_ANY_STRING = {"type": "string"}
_COUNT = {"type": "integer", "format": "int64", "minimum": 0}


def _query(name: str, description: str, schema: Tree) -> Tree:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _path(name: str, description: str) -> Tree:
    schema = {"type": "string", "minLength": 1, "pattern": "^[^/%?#.][^/%?#]*$"}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
    }


NAME = _path("name", "The name of the object.")
NAMESPACE = _path("namespace", "The namespace of the object.")

PRETTY = _query("pretty", "Whether the answer is indented for people.", {"type": "boolean"})
DRY_RUN = _query(
    "dryRun",
    "All: do everything but keep the result.",
    {"type": "string", "enum": ["All"]},
)
MANAGER = _query(
    "fieldManager",
    "Who owns the fields that this request sets; taken from the User-Agent when it is missing. "
    "An apply patch must name it.",
    {"type": "string", "maxLength": 128},
)
VALIDATION = _query(
    "fieldValidation",
    "What happens to unknown and repeated fields: Ignore drops them, Warn (the default) says so, "
    "Strict refuses the request.",
    {"type": "string", "enum": ["Ignore", "Warn", "Strict"]},
)
FORCE = _query(
    "force",
    "Take fields away from the managers that own them. For apply patches only.",
    {"type": "boolean"},
)
GRACE = _query(
    "gracePeriodSeconds", "How long the object may take to end; 0 is at once.", dict(_COUNT)
)
PROPAGATION = _query(
    "propagationPolicy",
    "What happens to dependents: Orphan leaves them, Background deletes them afterwards, "
    "Foreground before.",
    {"type": "string", "enum": ["Orphan", "Background", "Foreground"]},
)
VERSION = _query(
    "resourceVersion",
    "The state to read: missing is the newest, 0 any that is at hand, else not older than this.",
    _ANY_STRING,
)
VERSION_MATCH = _query(
    "resourceVersionMatch",
    "How resourceVersion is meant: Exact, or NotOlderThan.",
    {"type": "string", "enum": ["Exact", "NotOlderThan"]},
)
LABELS = _query(
    "labelSelector", "Only objects with these labels: a=b, c!=d, e in (f, g), !h.", _ANY_STRING
)
FIELDS = _query("fieldSelector", "Only objects with these fields: metadata.name=x.", _ANY_STRING)
LIMIT = _query("limit", "At most so many objects; the answer then says how to go on.", dict(_COUNT))
CONTINUE = _query("continue", "Where the answer before stopped.", _ANY_STRING)
WATCH = _query(
    "watch",
    "Send what changes, as one event after the other, instead of a list.",
    {"type": "boolean"},
)
BOOKMARKS = _query(
    "allowWatchBookmarks",
    "Send an event now and then that says only how far the watch has come.",
    {"type": "boolean"},
)
INITIAL = _query(
    "sendInitialEvents",
    "Begin a watch with what there is; needs resourceVersionMatch=NotOlderThan.",
    {"type": "boolean"},
)
TIMEOUT = _query(
    "timeoutSeconds", "End a list or watch after so long.", {"type": "integer", "minimum": 0}
)

LIST = (
    LABELS, FIELDS, LIMIT, CONTINUE, VERSION, VERSION_MATCH, TIMEOUT, WATCH, BOOKMARKS, INITIAL,
)  # fmt: skip
WRITE = (DRY_RUN, MANAGER, VALIDATION)
PATCH = (*WRITE, FORCE)
DELETE = (DRY_RUN, GRACE, PROPAGATION)
DELETE_ALL = (*DELETE, LABELS, FIELDS, LIMIT, CONTINUE, VERSION, VERSION_MATCH, TIMEOUT)
