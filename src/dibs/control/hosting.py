"""One control plane on one box: data folder, server, loops; opened in order, closed in order.

    async with hosted(Settings(Path("data"))) as hosted: hosted.kubeconfig

The data folder has everything that outlives the process: the store, the authority and its keys,
the administrator's kubeconfig, the audit log. Decisions: designs/056-up.md.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dibs.api import bootstrap, failures, kinds, patching, world
from dibs.api.access import authority, secrets, tokens
from dibs.api.access.audit import Log
from dibs.api.access.authority import Authority
from dibs.api.access.guard import Guard
from dibs.api.calls import Call, Tree, WriteOptions
from dibs.api.gate import Account
from dibs.api.local import LOOPS, Local
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.api.server import serving
from dibs.control import running
from dibs.control.embedded import Hands
from dibs.control.nodeless import MODEL
from dibs.control.running import Clocks, Loops
from dibs.schedule.state import DEFAULTS, Options
from dibs.store import opening
from dibs.store.records import Key
from dibs.store.store import Store
from dibs.values.mistake import Mistake

KUBECONFIG = "kubeconfig"
ADMIN = "dibs-admin"
EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True, slots=True)
class Settings:
    """`fleet` and then `objects` are applied before it is ready; what an earlier fleet had and this
    one hasn't is deleted."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 6443
    fleet: tuple[Tree, ...] = ()
    objects: tuple[Tree, ...] = ()
    options: Options = DEFAULTS


@dataclass(frozen=True, slots=True)
class Hosted:
    """What runs, and where it is reached."""

    url: str
    kubeconfig: Path
    plane: Plane
    loops: Loops


@asynccontextmanager
async def hosted(settings: Settings) -> AsyncIterator[Hosted]:
    """Open a plane until the block ends. Raises Mistake for what is wrong with the settings, the
    folder or the objects; then nothing is left open, and nothing half written."""
    async with AsyncExitStack() as stack:
        store = await opening.in_folder(settings.data)
        stack.push_async_callback(store.close)
        now = datetime.datetime.now(datetime.UTC)
        ours = authority.in_folder(settings.data, now)
        log = Log.in_folder(settings.data)
        stack.callback(log.close)
        signer = tokens.in_folder(settings.data)
        guard = Guard(signer, lambda account: is_there(store, account), log, time.time)
        plane = Plane(store, world.real(), guard)
        tls = _tls(settings, ours, now)
        await bootstrap.ensure(plane)
        if settings.fleet:
            await _dismiss(plane, settings.fleet)
        for tree in (*settings.fleet, *settings.objects):
            await apply(plane, tree)
        server = await stack.enter_async_context(
            serving.listening(plane, host=settings.host, port=settings.port, tls=tls)
        )
        loops = await stack.enter_async_context(
            running.loops(
                Local(plane), Clocks(time.time, time.monotonic), settings.options, plane=plane
            )
        )
        kubeconfig = settings.data / KUBECONFIG
        pair = ours.for_client(ADMIN, ("dibs:admin",), now)
        url = _from_here(settings.host, server.url)
        try:
            secrets.write(kubeconfig, kubeconfig_of(url, ours, pair, ADMIN))
        except Mistake:
            # On a full disk, whoever makes room by it must get in.
            if not reaches(kubeconfig, url, ours):
                raise
        yield Hosted(url, kubeconfig, plane, loops)


def is_there(store: Store, account: Account) -> bool:
    """Whether a token's account, and what the token is bound to, still are what they were."""
    bound = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}
    wanted = [(Key("serviceaccounts", account.namespace, account.name), account.uid)]
    if account.bound_kind:
        namespace = "" if account.bound_kind == "Node" else account.namespace
        key = Key(bound[account.bound_kind], namespace, account.bound_name)
        wanted.append((key, account.bound_uid))
    for key, uid in wanted:
        entry = store.get(key)
        if entry is None or msgspec.json.decode(entry.value)["metadata"]["uid"] != uid:
            return False
    return True


def reaches(kubeconfig: Path, url: str, ours: Authority) -> bool:
    """Whether an earlier kubeconfig is for the same address and authority."""
    try:
        [cluster] = msgspec.json.decode(kubeconfig.read_bytes())["clusters"]
        about = cluster["cluster"]
        is_same = about["certificate-authority-data"] == _text(ours.pem)
        return bool(about["server"] == url and is_same)
    except (OSError, msgspec.DecodeError, KeyError, TypeError, ValueError):
        return False


def kubeconfig_of(
    url: str, ours: Authority, pair: authority.Pair, user: str, namespace: str = ""
) -> bytes:
    """A kubeconfig (JSON is YAML) with everything in it; nothing else is needed to connect."""
    context = {"cluster": "dibs", "user": user}
    if namespace:
        context["namespace"] = namespace
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "dibs",
                "cluster": {"server": url, "certificate-authority-data": _text(ours.pem)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _text(pair.certificate),
                    "client-key-data": _text(pair.key),
                },
            }
        ],
        "contexts": [{"name": "dibs", "context": context}],
        "current-context": "dibs",
    }
    return msgspec.json.format(msgspec.json.encode(tree), indent=2) + b"\n"


def _text(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def _tls(settings: Settings, ours: Authority, now: datetime.datetime) -> ssl.SSLContext:
    """The server's certificate; clients may show theirs, or a token instead. One that still does is
    kept: on a full disk no other could be written."""
    names, chain = _names(settings.host), settings.data / "server.pem"
    if not chain.exists() or not ours.still_serves(secrets.read(chain), names, now):
        pair = ours.for_server(names, now)
        secrets.write(chain, pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(chain)
    context.load_verify_locations(cadata=ours.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _names(host: str) -> list[str]:
    """By which clients may know the server: where it listens on everything, all of this box."""
    names = ["localhost", "127.0.0.1", "::1"]
    if host not in EVERYWHERE:
        return [*names, host]
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        # Without the interface behind an address of the link.
        names += [str(address[0]).partition("%")[0] for *_, address in found]
    return [*names, name, socket.getfqdn()]


def _from_here(host: str, url: str) -> str:
    """The same for who is on this box: nobody can connect to "everything"."""
    if host not in EVERYWHERE:
        return url
    here = "[::1]" if host == "::" else "127.0.0.1"
    return f"https://{here}:{url.rpartition(':')[2]}"


async def _dismiss(plane: Plane, fleet: tuple[Tree, ...]) -> None:
    """Delete the models of nodes, and their slices, that are not in the fleet any more."""
    kept = {(tree["kind"], tree["metadata"]["name"]) for tree in fleet}
    nodes = [
        entry
        for entry in plane.store.page("nodes").entries
        if MODEL in (plane.reader.tree(entry)["metadata"].get("annotations") or {})
    ]
    names = {entry.key.name for entry in nodes}
    slices = [
        entry
        for entry in plane.store.page("resourceslices.resource.k8s.io").entries
        if plane.reader.tree(entry)["spec"].get("nodeName") in names
    ]
    hands = Hands(plane)
    for kind, entries in (("ResourceSlice", slices), ("Node", nodes)):
        for entry in entries:
            if (kind, entry.key.name) not in kept:
                await hands.delete(entry.key, plane.reader.tree(entry)["metadata"]["uid"])


async def apply(plane: Plane, tree: Tree) -> None:
    """Have an object be as given: made, or patched by server-side apply. Raises Mistake."""
    group, _, version = str(tree.get("apiVersion", "")).rpartition("/")
    kind, metadata = str(tree.get("kind", "")), tree.get("metadata") or {}
    resource = kinds.of_kind(group, kind)
    who = f"{kind} {metadata.get('name', '')}"
    if resource is None or not resource.is_kept or version not in resource.versions:
        raise Mistake(f"{tree.get('apiVersion')} {kind} is not served", path=who)
    namespace = (metadata.get("namespace") or "default") if resource.namespaced else ""
    name = str(metadata.get("name", ""))
    call = Call("patch", resource, version, namespace, name, "", LOOPS)
    options = WriteOptions(field_validation="Strict", manager="dibs-up", force=True)
    try:
        await patching.patch(plane, call, Patch(patching.APPLY, tree), options)
        if resource.has_status and tree.get("status"):
            door = Call("patch", resource, version, namespace, name, "status", LOOPS)
            body = Patch(patching.MERGE, {"status": tree["status"]})
            await patching.patch(plane, door, body, WriteOptions())
    except failures.Failure as failure:
        raise Mistake(failure.message, path=who) from None
