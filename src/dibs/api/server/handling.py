"""One request from its head to its answer: who, what, may they, do it, say it, note it.

The only place where a bug becomes a 500, and where what was done goes to the audit log.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from dibs.api import (
    check,
    convert,
    deletes,
    doors,
    failures,
    patching,
    reads,
    reviews,
    selecting,
    watches,
    writes,
)
from dibs.api.calls import Asked, Call, Caller, Tree, Written
from dibs.api.failures import Failure
from dibs.api.gate import Credentials, Record
from dibs.api.plane import Plane
from dibs.api.server import acting, answers, bodies, limits, negotiation, queries, routes, streams
from dibs.api.server.answers import Answer, Wish
from dibs.api.server.limits import Limits, Load
from dibs.api.server.published import Published
from dibs.api.server.routes import Document
from dibs.store.records import Entry

_LONGEST_NOTED = 500
_READS = ("get", "list")
_NARROWED = ("list", "watch", "deletecollection")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Request:
    """One request, once it is known who asks and what for."""

    http: web.BaseRequest
    peer: str
    call: Call
    query: queries.Query
    wish: Wish


@dataclass(frozen=True, slots=True)
class Done:
    """The answer, and what the audit log should know of it."""

    answer: Answer
    written: tuple[Written, ...] = ()


class Handler:
    """Answers requests, any number at a time."""

    def __init__(self, plane: Plane, bounds: Limits, published: Published) -> None:
        self.plane = plane
        self.bounds = bounds
        self.load = Load(bounds)
        self.published = published
        # Writes that go on without their clients.
        self._begun: set[asyncio.Task[Done]] = set()

    async def __call__(self, http: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answered(http)
        except Failure as failure:
            # Who has too much open is not helped by one more that stays open.
            is_last = failure.code == 429
            return await self._reply(http, answers.of_failure(failure), is_last=is_last)
        except TimeoutError:
            # Nobody takes the answer. What is half written can't be ended well.
            if http.transport:
                http.transport.abort()
            raise
        except (ConnectionError, ssl.SSLError):
            raise
        # The one place where a bug is told, and not to the client.
        except Exception:
            traceback.print_exc(file=sys.stderr)
            if http.transport is None or http.transport.is_closing():
                raise
            return await self._reply(http, answers.of_failure(failures.bug()))

    async def _answered(self, http: web.BaseRequest) -> web.StreamResponse:
        caller, peer = self._caller(http)
        caller = self._acting(http, caller, peer)
        query = http.rel_url.query
        what = routes.read(
            _method(http), http.rel_url.raw_path, is_watch=queries.is_watch(query), caller=caller
        )
        asked = _asked(what, query)
        refusal = self.plane.gate.refusal(caller, asked)
        if refusal is not None:
            self._note(http, caller, asked, 403, peer)
            raise _forbidden(what, asked, caller, refusal)
        accepted = negotiation.accepted(http.headers.get("Accept", ""))
        if isinstance(what, Document):
            return await self._reply(http, self.published.answer(what, accepted, http.headers))
        request = Request(http, peer, what, query, Wish(accepted, queries.including(query)))
        if what.verb == "watch":
            return await self._watch(request)
        with self.load.request(caller.accountable):
            if what.verb in _READS:
                done = await self._noted(request, asked)
            else:
                done = await self._in_any_case(self._noted(request, asked))
            return await self._reply(http, done.answer)

    async def _noted(self, request: Request, asked: Asked) -> Done:
        caller = request.call.caller
        try:
            done = await _VERBS[request.call.verb](self, request)
        except Failure as failure:
            self._note(request.http, caller, asked, failure.code, request.peer)
            raise
        for written in done.written or (None,):
            self._note(request.http, caller, asked, done.answer.code, request.peer, written)
        return done

    async def _in_any_case(self, work: Coroutine[Any, Any, Done]) -> Done:
        """What was begun is done and noted, though the client may be gone: nobody writes unseen."""
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Done]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            # Asked for, so that nobody complains of it when there is no client to tell.
            task.exception()

    def _caller(self, http: web.BaseRequest) -> tuple[Caller, str]:
        """Raises Failure (401)."""
        transport = http.transport
        secured = transport.get_extra_info("ssl_object") if transport else None
        certificate = secured.getpeercert(binary_form=True) if secured else None
        peer = str((transport.get_extra_info("peername") or ("",))[0]) if transport else ""
        shown = Credentials(http.headers.get("Authorization", ""), certificate, peer)
        caller = self.plane.gate.who(shown)
        if caller is None:
            asked = Asked(http.method.lower(), path=http.rel_url.raw_path[:_LONGEST_NOTED])
            self._note(http, Caller(), asked, 401, peer)
            raise failures.unauthorized()
        return caller, peer

    def _acting(self, http: web.BaseRequest, caller: Caller, peer: str) -> Caller:
        """Return whom the caller acts as. Raises Failure (400, 403)."""
        said = acting.named(http.headers.items())
        if not said:
            return caller
        other = acting.other(caller, said)
        for asked in acting.asked(said, other):
            if (why := self.plane.gate.refusal(caller, asked)) is not None:
                self._note(http, caller, asked, 403, peer)
                raise acting.refused(caller, asked, why)
        return other

    def _note(
        self,
        http: web.BaseRequest,
        caller: Caller,
        asked: Asked,
        code: int,
        peer: str,
        written: Written | None = None,
    ) -> None:
        before = written.before if written else None
        after = written.after if written else None
        agent = http.headers.get("User-Agent", "")[:200]
        is_dry = "dryRun" in http.rel_url.query or (written is not None and written.is_dry)
        self.plane.gate.note(Record(caller, asked, code, peer, agent, before, after, is_dry=is_dry))

    async def _reply(
        self, http: web.BaseRequest, answer: Answer, *, is_last: bool = False
    ) -> web.StreamResponse:
        zipped = await answers.zipped(answer.body, http.headers.get("Accept-Encoding", ""))
        body = answer.body if zipped is None else zipped
        response = web.Response(status=answer.code, body=body, headers=answers.headers(answer))
        if zipped is not None:
            response.headers["Content-Encoding"] = "gzip"
        if is_last:
            response.force_close()
        async with limits.patience(self.bounds, len(body)):
            await response.prepare(http)
            await response.write_eof()
        return response

    # --- reading ----------------------------------------------------------------------------------

    async def get(self, request: Request) -> Done:
        revision = request.query.get("resourceVersion", "")
        entry = reads.get(self.plane.store, request.call, revision)
        self._reveal(request.call, entry)
        return Done(answers.of_entry(self.plane, request.call, entry, request.wish))

    def _reveal(self, call: Call, entry: Entry) -> None:
        """Raises Failure (403) when this very object may not be read."""
        asked, plane = call.asked, self.plane
        why = plane.gate.concealed(call.caller, asked, lambda: plane.reader.tree(entry))
        if why is not None:
            raise _forbidden(call, asked, call.caller, why)

    async def list(self, request: Request) -> Done:
        options = queries.listing(request.query)
        listed = reads.listed(self.plane.store, self.plane.reader, request.call, options)
        return Done(answers.of_list(self.plane, request.call, listed, request.wish))

    async def _watch(self, request: Request) -> web.StreamResponse:
        call = request.call
        options = queries.watching(request.query, call.name)
        with self.load.watch(call.caller.accountable):
            started = watches.start(self.plane, replace(call, name=""), options)
            self._note(request.http, call.caller, call.asked, 200, request.peer)
            return await streams.send(
                request.http, self.plane, call, started, request.wish, self.load
            )

    # --- writing ----------------------------------------------------------------------------------

    async def create(self, request: Request) -> Done:
        call, plane = request.call, self.plane
        if call.subresource:
            return await self._door(request)
        body = await self._body(request)
        if not call.resource.is_kept:
            tree = self._review(call, body.tree)
            return Done(answers.of_tree(tree, 201, request.wish))
        options = queries.writing(request.query, _agent(request))
        written = await writes.create(plane, call, body.tree, options, body.duplicates)
        return self._done(request, written)

    def _review(self, call: Call, tree: Tree) -> Tree:
        tree = convert.claimed(call.resource, call.version, tree)
        tree = check.fitted(call.resource.api_version(call.version), call.resource.kind, tree)
        return reviews.answer(self.plane.gate, call, tree)

    async def _door(self, request: Request) -> Done:
        call, plane = request.call, self.plane
        body = check.fitted(*bodies.kind_of(call), (await self._body(request)).tree)
        options = queries.writing(request.query, _agent(request))
        match call.subresource:
            case "binding":
                answer = await doors.bind(plane, call, body, options)
            case "eviction":
                deleting = queries.deleting(request.query, body.get("deleteOptions"))
                answer = await doors.evict(plane, call, deleting)
            case _:
                answer = doors.token(plane, call, body)
        return Done(answers.of_tree(answer, 201, request.wish))

    async def update(self, request: Request) -> Done:
        body = await self._body(request)
        options = queries.writing(request.query, _agent(request))
        written = await writes.update(self.plane, request.call, body.tree, options, body.duplicates)
        return self._done(request, written)

    async def patch(self, request: Request) -> Done:
        sent = await bodies.a_patch(request.http, self.load)
        options = queries.writing(request.query, _agent(request))
        if sent.type == patching.APPLY and not request.query.get("fieldManager"):
            options = replace(options, manager="")
        written = await patching.patch(self.plane, request.call, sent, options)
        return self._done(request, written)

    async def delete(self, request: Request) -> Done:
        given = await bodies.options(request.http, self.load)
        options = queries.deleting(request.query, given)
        written = await deletes.delete(self.plane, request.call, options)
        return self._done(request, written)

    async def deletecollection(self, request: Request) -> Done:
        given = await bodies.options(request.http, self.load)
        options = queries.deleting(request.query, given)
        selected = queries.listing(request.query)
        done = await deletes.delete_collection(self.plane, request.call, selected, options)
        tree: Tree = {
            "kind": f"{request.call.resource.kind}List",
            "apiVersion": request.call.resource.api_version(request.call.version),
            "metadata": {"resourceVersion": str(self.plane.store.revision)},
            "items": [each.tree for each in done],
        }
        return Done(answers.of_tree(tree, 200, request.wish), done)

    async def _body(self, request: Request) -> bodies.Body:
        version, kind = bodies.kind_of(request.call)
        return await bodies.an_object(request.http, self.load, version, kind)

    def _done(self, request: Request, written: Written) -> Done:
        answer = answers.of_written(self.plane, request.call, written, request.wish)
        return Done(answer, (written,))


_VERBS: dict[str, Callable[[Handler, Request], Coroutine[Any, Any, Done]]] = {
    "get": Handler.get,
    "list": Handler.list,
    "create": Handler.create,
    "update": Handler.update,
    "patch": Handler.patch,
    "delete": Handler.delete,
    "deletecollection": Handler.deletecollection,
}


def _method(http: web.BaseRequest) -> str:
    if http.method not in _METHODS:
        raise failures.wrong_method()
    return http.method


def _agent(request: Request) -> str:
    return request.http.headers.get("User-Agent", "")


def _asked(what: Call | Document, query: queries.Query) -> Asked:
    """Raises Failure (400) for a selector that is none."""
    if isinstance(what, Document):
        return Asked(what.method.lower(), path="/" + "/".join(what.steps))
    selector = query.get("fieldSelector", "") if what.verb in _NARROWED else ""
    return replace(what.asked, fields=selecting.equalities(selector)) if selector else what.asked


def _forbidden(what: Call | Document, asked: Asked, caller: Caller, why: str) -> Failure:
    if isinstance(what, Document):
        text = f'forbidden: User "{caller.name}" cannot {asked.verb} path "{asked.path}"'
        return Failure(403, "Forbidden", f"{text}: {why}" if why else text)
    return failures.forbidden(what.resource, what.name, failures.cannot(caller.name, asked, why))
