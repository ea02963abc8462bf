"""Names and uids that the input lacks, derived from what it has: the same input, the same answer.

In a cluster the API server draws five random letters for a claim made from a template, and a uid
for everything. Offline they are taken from a digest, so that two runs over one dump agree and
output can be fed back in. A host that has a real server lets it draw instead (generateName).
Source: resourceclaim controller (name prefixes), apimachinery (the alphabet).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from dibs.model.core import Pod
from dibs.schedule.snapshot import Key, key_of

# No vowels and no digits that look like letters: no words come out.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
GENERATED_LIMIT = 58  # apiserver: with the suffix a DNS label
PREFIX_LIMIT = 57  # with the suffix 62: one less than a DNS label may have


def claim_name(pod: Key, entry: str, taken: Collection[Key]) -> str:
    """`<pod>-<entry>-<suffix>`, unlike any claim of the namespace that is there already."""
    return free_name(claim_prefix(pod.name, entry), pod, entry, taken)


def special_name(pod: Key, taken: Collection[Key]) -> str:
    """`<pod>-extended-resources-<suffix>` (KEP-5004), cut as the API server cuts it."""
    prefix = f"{pod.name}-extended-resources-"[:GENERATED_LIMIT]
    return free_name(prefix, pod, "extended-resources", taken)


def free_name(prefix: str, owner: Key, entry: str, taken: Collection[Key]) -> str:
    attempt = 0
    while True:
        name = prefix + suffix(f"{owner}/{entry}/{attempt}")
        if Key(owner.namespace, name) not in taken:
            return name
        attempt += 1


def claim_prefix(pod: str, entry: str) -> str:
    """`<pod>-<entry>-`, both parts shortened in proportion when they are too long together."""
    room = PREFIX_LIMIT - 2
    if len(pod) + len(entry) > room:
        pod_room = room * len(pod) // (len(pod) + len(entry))
        pod, entry = pod[:pod_room], entry[: room - pod_room]
    return f"{pod}-{entry}-"


def suffix(seed: str) -> str:
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:SUFFIX_LENGTH])


def uid(kind: str, key: Key) -> str:
    """A uid for an object that was never in a cluster, in the form of RFC 9562 version 8."""
    digest = hashlib.sha256(f"{kind} {key}".encode("utf-8", "surrogatepass")).hexdigest()
    variant = "89ab"[int(digest[16], 16) % 4]
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def pod_uid(pod: Pod) -> str:
    """The Pod's uid, or the one it would have here."""
    return pod.metadata.uid or uid("Pod", key_of(pod.metadata))
