"""The ways to several servers at once: one list of each kind, names with the server before them, and each in its own era.

A server that is not there is left out, and its tools stay listed once they were known; only where none is there, that is
an error. Where one server knows the handshake alone, the client is answered as if none knew more; see `eras.py`.
"""
from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

import byref
from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap import names
from byref.proxy.frontends.wrap.endpoint import Endpoint
from byref.proxy.frontends.wrap.eras import ACKNOWLEDGED, LISTEN, SUBSCRIPTION_KEY, Translated, envelope, told
from byref.proxy.frontends.wrap.faces import Face, Work, together
from byref.proxy.frontends.wrap.listening import Listening
from byref.proxy.frontends.wrap.messages import GONE, INVALID_PARAMS, METHOD_NOT_FOUND, Body, Message, RpcError
from byref.proxy.frontends.wrap.routes import CHANGED, INITIALIZED, Back, Base
from byref.proxy.frontends.wrap.upstream import Server, Upstream

MODERN = "2026-07-28"
UNSUPPORTED = -32022  # the version, in MCP since 2026-07-28
LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}
_ABLE = {"tools": "tools", "prompts": "prompts", "resources": "resources", "resourceTemplates": "resources"}


class Several(Base):
    """The ways to several servers. client_name: what the client calls us; names are kept short enough for it."""

    def __init__(self, servers: Sequence[Server], complain: Callable[[str], None], client_name: str) -> None:
        super().__init__(servers, complain)
        self._faces = [Face(upstream, prefix) for upstream, prefix in
                       zip(self.upstreams, names.prefixes([upstream.name for upstream in self.upstreams]), strict=True)]
        self._probed = False
        self._initialized = False
        self._names = names.Register([face.prefix for face in self._faces], client_name)
        self._listening = Listening()

    # the first words ------------------------------------------------------------------------------------

    async def greet(self, message: Message) -> Body:
        """See `Routes.greet`."""
        if message.method != "initialize":
            return await self._discover(message)
        self.hello = message.body or Body.of({})
        probed, self._probed = self._probed, False
        faces = await self._all(lambda face: self._meet(face, probed), late=self._late)
        answers = [face.found for face in faces]
        versions = [version for found in answers if isinstance(version := found.get("protocolVersion"), str)]
        asked = self.hello.object.get("protocolVersion")
        return Body.of({"protocolVersion": min(versions) if versions else asked, "serverInfo": _info(), **self._merged(faces)})

    async def _meet(self, face: Face, probed: bool) -> None:
        if probed:  # what it was asked has bound its connection to the other era
            await face.upstream.renew()
        await self._introduce(face, await face.upstream.endpoint())

    async def welcome(self, upstream: Upstream, live: Endpoint) -> None:
        """See `Owner.welcome`."""
        if self.hello is not None:
            face = self._face(upstream)
            await self._introduce(face, live)
            if face.translated is None and self._initialized:
                await live.notify(Message(None, INITIALIZED, None))
                await self.remind(upstream, live)

    async def notify(self, message: Message) -> None:
        """See `Routes.notify`."""
        if message.method != INITIALIZED:
            await super().notify(message)
            return
        self._initialized = True
        for face in self._faces:
            if face.live is not None and face.translated is None:
                await face.upstream.notify(message)

    async def _introduce(self, face: Face, live: Endpoint) -> None:
        """Says hello to a server, in its own era. Raises `RpcError` or `Gone`."""
        async with face.lock:
            if face.live is live:
                return
            assert self.hello is not None
            if face.translated is not None:
                face.translated.close()
                face.translated = None
            try:
                found = (await live.request(self.own_id(), "initialize", self.hello)).object
            except RpcError as fault:
                if fault.code not in (UNSUPPORTED, METHOD_NOT_FOUND):
                    raise
                hello = self.hello.object
                held = Body.of({"_meta": envelope(MODERN, hello)})
                found = (await live.request(self.own_id(), "server/discover", held)).object
                assert self.client is not None
                face.translated = Translated(face.upstream, MODERN, hello, self.client.request)
                face.translated.listen()
            face.live, face.found = live, found

    async def _discover(self, message: Message) -> Body:
        """The answer of all, where all are of this era; else the client is sent to the handshake."""
        self._probed = True

        async def ask(face: Face) -> None:
            try:
                face.found = (await face.upstream.request(face.upstream.own_id(), message.method, message.body)).object
            except RpcError as fault:  # whatever one of the other era says to it
                if fault.code == GONE:
                    raise
                raise RpcError.made(METHOD_NOT_FOUND, str(fault)) from None

        faces = await self._all(ask, late=None)
        first = faces[0].found
        versions = [version for version in _texts(first.get("supportedVersions"))
                    if all(version in _texts(face.found.get("supportedVersions")) for face in faces)]
        if not versions:
            raise RpcError.made(METHOD_NOT_FOUND, "not all of these servers know this")
        return Body.of({"supportedVersions": versions, **_kept([face.found for face in faces]), **self._merged(faces),
                        "_meta": {"io.modelcontextprotocol/serverInfo": _info()}})

    def _merged(self, faces: Sequence[Face]) -> dict[str, Json]:
        able: dict[str, Json] = {}
        texts = []
        for face in faces:
            declared = face.found.get("capabilities")
            for kind, about in (declared if isinstance(declared, dict) else {}).items():
                known = able.get(kind)
                able[kind] = {**known, **about} if isinstance(known, dict) and isinstance(about, dict) else about
            said = face.found.get("instructions")
            if isinstance(said, str) and said.strip():
                texts.append(f"{face.prefix}: {said.strip()}")
        if len(faces) < len(self._faces):  # what the others can do is told when they are there
            for kind in ("tools", "prompts", "resources"):
                known = able.get(kind)
                able[kind] = {**(known if isinstance(known, dict) else {}), "listChanged": True}
        return {"capabilities": able, **({"instructions": "\n\n".join(texts)} if texts else {})}

    async def _late(self, face: Face) -> None:
        """A server that took its time is there."""
        if self._initialized and face.translated is None:
            await face.upstream.notify(Message(None, INITIALIZED, None))
        await self._altered()

    async def _altered(self) -> None:
        await self.changed()
        for method in CHANGED:
            await self.tell(Message(None, method, None))

    async def _all(self, work: Work, late: Callable[[Face], Awaitable[None]] | None) -> list[Face]:
        return await together(self._faces, work, late=late, hold=self.later)

    # requests -------------------------------------------------------------------------------------------

    async def request(self, message: Message) -> Body:
        """See `Routes.request`."""
        method, params = message.method, message.params
        if method in LISTS:
            return await self._list(message, LISTS[method])
        if method in ("tools/call", "prompts/get"):
            kind = method.partition("/")[0]
            face, name = await self._meant(message, kind, str(params.get("name", "")))
            return await self._ask(face, _with(message, {**params, "name": name}))
        if method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
            return await self._resource(message, str(params.get("uri", "")))
        if method == "completion/complete":
            return await self._complete(message)
        if method == LISTEN:
            return await self._listen(message)
        if method == "logging/setLevel":
            return await self._any([face for face in self._faces if face.able("logging")], message, every=True)
        return await self._any(self._faces, message)

    async def _ask(self, face: Face, message: Message) -> Body:
        if face.translated is not None:
            return await face.translated.request(message)
        answer = await face.upstream.request(message.id or 0, message.method, message.body)
        self.remember(face.upstream, message)
        return answer

    async def _any(self, faces: Sequence[Face], message: Message, *, every: bool = False) -> Body:
        """The answer of the first that has one; with every, all are asked. Raises the last fault where none has."""
        found: Body | None = None
        fault = RpcError.made(METHOD_NOT_FOUND, f"none of these servers knows {message.method[:64]}")
        for face in faces:
            try:
                answer = await self._ask(face, message)
            except RpcError as said:
                fault = said
                continue
            found = found or answer
            if not every:
                break
        if found is None:
            raise fault
        return found

    async def _list(self, message: Message, key: str) -> Body:
        """All pages of all servers as one. What a server listed before stays while it is not there."""
        meta = message.meta
        base: dict[str, Json] = {"_meta": {key: value for key, value in meta.items() if key.startswith("io.modelcontextprotocol/")}}
        answers: list[Mapping[str, Json]] = []

        async def pages(face: Face) -> None:
            listed: list[Mapping[str, Json]] = []
            cursor: Json = None
            while face.able(_ABLE[key]):
                params = {**(base if meta else {}), **({} if cursor is None else {"cursor": cursor})}
                try:
                    ask = Message(face.upstream.own_id(), message.method, Body.of(params) if params else None)
                    found = (await self._ask(face, ask)).object
                except RpcError as fault:
                    if fault.code != METHOD_NOT_FOUND:
                        raise
                    break
                answers.append(found)
                several = found.get(key)
                listed += [one for one in (several if isinstance(several, list) else ()) if isinstance(one, dict)]
                cursor = found.get("nextCursor")
                if cursor is None:
                    break
            face.lists[key] = listed

        await self._all(pages, late=lambda face: self._altered())
        shown = self._names.show(key, [face.lists.get(key, []) for face in self._faces])
        return Body.of({key: shown, **(_kept(answers) if message.modern else {})})

    async def _meant(self, message: Message, kind: str, name: str) -> tuple[Face, str]:
        """Whose tool or prompt a name means, and its own name there. Raises `RpcError`."""
        meant = self._names.meant(kind, name)
        if meant is None:
            await self._list(Message(self.own_id(), f"{kind}/list", message.body), kind)
            meant = self._names.meant(kind, name)
        if meant is None:
            raise RpcError.made(INVALID_PARAMS, f"there is no {kind[:-1]} {name[:80]!r} here")
        return self._faces[meant[0]], meant[1]

    async def _resource(self, message: Message, uri: str) -> Body:
        owner = await self._owner(message, uri)
        if owner is None:
            return await self._any([face for face in self._faces if face.able("resources")], message)
        face, own = owner
        return await self._ask(face, message if own == uri else _with(message, {**message.params, "uri": own}))

    async def _owner(self, message: Message, uri: str) -> tuple[Face, str] | None:
        """Whose resource a URI means: who listed it, else who has a template for it."""
        for kind, method in (("resources", "resources/list"), ("resourceTemplates", "resources/templates/list")):
            if not any(kind in face.lists for face in self._faces):
                await self._list(Message(self.own_id(), method, message.body), kind)
        if (meant := self._names.meant("resources", uri)) is not None:
            return self._faces[meant[0]], meant[1]
        for face in self._faces:
            for one in face.lists.get("resourceTemplates", ()):
                pattern = re.sub(r"\\\{[^}]*\\\}", ".*", re.escape(str(one.get("uriTemplate"))))
                if re.fullmatch(pattern, uri):
                    return face, uri
        return None

    async def _complete(self, message: Message) -> Body:
        about = message.params.get("ref")
        ref: Mapping[str, Json] = about if isinstance(about, dict) else {}
        if ref.get("type") == "ref/prompt":
            face, name = await self._meant(message, "prompts", str(ref.get("name", "")))
            return await self._ask(face, _with(message, {**message.params, "ref": {**ref, "name": name}}))
        template = str(ref.get("uri", ""))
        await self._owner(message, template)
        for face in self._faces:
            if any(one.get("uriTemplate") == template for one in face.lists.get("resourceTemplates", ())):
                return await self._ask(face, message)
        return await self._any([face for face in self._faces if face.able("completions")], message)

    # listening, in the era that has it ---------------------------------------------------------------------

    async def _listen(self, message: Message) -> Body:
        """One stream of all: acknowledged once, and ended when the last one ends it."""
        number = message.id or 0
        wanted = message.params.get("notifications")
        filters: dict[str, Json] = dict(wanted) if isinstance(wanted, dict) else {}
        uris = _texts(filters.pop("resourceSubscriptions", None))
        theirs: dict[str, list[str]] = {face.upstream.name: [] for face in self._faces}
        for uri in uris:
            owner = await self._owner(message, uri)
            theirs[(owner[0] if owner else self._faces[0]).upstream.name].append(uri if owner is None else owner[1])
        self._listening.open(number, [face.upstream.name for face in self._faces])

        async def one(face: Face) -> Body:
            more: dict[str, Json] = {"resourceSubscriptions": theirs[face.upstream.name]} if theirs[face.upstream.name] else {}
            try:
                return await face.upstream.request(number, LISTEN, Body.of({**message.params, "notifications": {**filters, **more}}))
            finally:
                await self._acknowledge(number, face.upstream, {})
        try:
            ends = await asyncio.gather(*map(one, self._faces), return_exceptions=True)
        finally:
            self._listening.close(number)
        for end in ends:
            if isinstance(end, Body):
                return end
        raise next(end for end in ends if isinstance(end, BaseException))

    async def _acknowledge(self, number: Json, upstream: Upstream, honored: Json) -> None:
        for message in self._listening.acknowledged(number, upstream.name, honored):
            await self.tell(message)

    # the servers' own words -------------------------------------------------------------------------------

    def handler(self, upstream: Upstream) -> Back:
        """See `Owner.handler`."""
        self._lives[upstream.name] = life = self._lives.get(upstream.name, 0) + 1
        return _Back(self, upstream, f"{upstream.name}.{life}:")

    async def heard(self, upstream: Upstream, message: Message) -> Message | None:
        """A notification of a server as the client is to hear it; None for one that it is not to hear."""
        face = self._face(upstream)
        if message.method == ACKNOWLEDGED and face.translated is None:
            await self._acknowledge(message.meta.get(SUBSCRIPTION_KEY), upstream, message.params.get("notifications"))
            return None
        spoken = message if face.translated is None else told(message)
        if spoken is not None and spoken.method == "notifications/resources/updated":
            uri = spoken.params.get("uri")
            other = self._names.shown("resources", self._faces.index(face), str(uri))
            spoken = spoken if other == uri else Message(None, spoken.method, Body.of({**spoken.params, "uri": other}))
        return None if spoken is None or self._listening.hold(spoken) else spoken

    def tool(self, name: str) -> str:
        """See `Routes.tool`."""
        meant = self._names.meant("tools", name)
        return name if meant is None else f"{self._faces[meant[0]].prefix}{names.SIGN}{meant[1]}"

    def _face(self, upstream: Upstream) -> Face:
        return next(face for face in self._faces if face.upstream is upstream)


class _Back(Back):
    async def notification(self, message: Message) -> None:
        routes = self._routes
        assert isinstance(routes, Several)
        heard = await routes.heard(self._upstream, message)
        if heard is not None:
            await super().notification(heard)


def _with(message: Message, params: Mapping[str, Json]) -> Message:
    return Message(message.id, message.method, Body.of(params))


def _kept(answers: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """How long a result made of others may be kept: the shortest of their times, and by one client where one says so."""
    times = [time for found in answers if isinstance(time := found.get("ttlMs"), (int, float))]
    public = bool(answers) and all(found.get("cacheScope") == "public" for found in answers)
    return {"resultType": "complete", "ttlMs": min(times, default=0), "cacheScope": "public" if public else "private"}


def _texts(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _info() -> dict[str, Json]:
    return {"name": "byref", "version": byref.__version__}
