"""A kubeconfig → where a cluster is, whom to trust, and what to show.

What runs programs (exec, auth-provider) is refused: dibs starts nothing on the word of a file.
Source: client-go's kubeconfig (clusters, users, contexts; KUBECONFIG with several files).
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dibs.values.mistake import Mistake

HOME = "~/.kube/config"
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Access:
    """`token` is "" where a certificate is shown, or nothing."""

    server: str
    namespace: str
    tls: ssl.SSLContext | None
    token: str = ""


def paths() -> tuple[Path, ...]:
    """The files that KUBECONFIG names, else the one in the home folder; only those that exist."""
    named = os.environ.get("KUBECONFIG", "")
    found = [Path(each) for each in named.split(os.pathsep) if each] or [Path(HOME).expanduser()]
    return tuple(path for path in found if path.exists())


def access(path: Path, context: str = "") -> Access:
    """Read the current context, or a named one. Raises Mistake."""
    tree = _tree(path)
    name = context or str(tree.get("current-context") or "")
    if not name:
        raise Mistake(
            "it has no current-context",
            path=str(path),
            remedy="kubectl config use-context NAME",
        )
    chosen = _named(tree, "contexts", name, path).get("context") or {}
    cluster = _named(tree, "clusters", str(chosen.get("cluster")), path).get("cluster") or {}
    users = {str(chosen.get("user"))} - {"None"}
    user = _named(tree, "users", users.pop(), path).get("user") or {} if users else {}
    for runs in ("exec", "auth-provider"):
        if runs in user:
            raise Mistake(
                f"user {chosen.get('user')} gets its credentials from a program ({runs}), "
                "which dibs doesn't start",
                path=str(path),
                remedy="use a token or a client certificate: kubectl create token NAME",
            )
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise Mistake("the cluster has no server", path=str(path), value=server)
    tls = _tls(cluster, user, path) if server.startswith("https://") else None
    return Access(
        server.rstrip("/"),
        str(chosen.get("namespace") or "default"),
        tls,
        _token(user, path),
    )


def _tree(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Mistake(f"is larger than {MAX_BYTES} bytes, no kubeconfig is", path=str(path))
        # A file of the user's own; loading it safely makes plain values only.
        tree = yaml.safe_load(path.read_text())
    except OSError as fault:
        raise Mistake(f"can't be read: {fault.strerror}", path=str(path)) from fault
    except (yaml.YAMLError, UnicodeDecodeError) as fault:
        raise Mistake(f"is no YAML: {fault}", path=str(path)) from fault
    if not isinstance(tree, dict):
        raise Mistake("is no kubeconfig", path=str(path), remedy="see kubectl config view")
    return tree


def _named(tree: Mapping[str, Any], kind: str, name: str, path: Path) -> Mapping[str, Any]:
    entries = tree.get(kind) or ()
    known = [each for each in entries if isinstance(each, dict)] if _is_list(entries) else []
    for each in known:
        if each.get("name") == name:
            return each
    names = ", ".join(str(each.get("name")) for each in known)
    raise Mistake(
        f"{kind} has no {name!r}",
        path=str(path),
        remedy=f"one of: {names}" if names else "see kubectl config view",
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], path: Path) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority", path)
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = _content(user, "client-certificate", path)
        key = _content(user, "client-key", path)
        if certificate and key:
            _show(context, certificate, key)
    except (ssl.SSLError, ValueError) as fault:
        raise Mistake(f"a certificate or key in it is wrong: {fault}", path=str(path)) from fault
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # OpenSSL loads them from files only; this one is ours alone, and gone at once.
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def _content(tree: Mapping[str, Any], name: str, path: Path) -> bytes:
    """What `name-data` holds, or the file that `name` names, beside the kubeconfig."""
    if data := tree.get(f"{name}-data"):
        try:
            return base64.b64decode(str(data), validate=True)
        except binascii.Error as fault:
            raise Mistake(f"{name}-data is no base64", path=str(path)) from fault
    if not (named := tree.get(name)):
        return b""
    file = path.parent / str(named)
    try:
        return file.read_bytes()
    except OSError as fault:
        raise Mistake(f"{name} can't be read: {fault.strerror}", path=str(file)) from fault


def _token(user: Mapping[str, Any], path: Path) -> str:
    if token := user.get("token"):
        return str(token)
    if file := user.get("tokenFile"):
        try:
            return (path.parent / str(file)).read_text().strip()
        except OSError as fault:
            raise Mistake(f"tokenFile can't be read: {fault.strerror}", path=str(file)) from fault
    return ""
