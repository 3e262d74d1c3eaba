"""The LLM APIs of a daemon: `byref serve --llm` gives each at /llm/NAME/, where its clients' base URL points."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from aiohttp import web

from byref.proxy.contracts import Clock
from byref.proxy.errors import ConfigError, Unavailable
from byref.proxy.frontends.http import Service
from byref.proxy.frontends.llm.passage import Passage
from byref.proxy.frontends.llm.rewriting import Rewriter
from byref.proxy.frontends.reverse import replies
from byref.proxy.frontends.reverse.paths import Outside
from byref.proxy.frontends.reverse.site import Site
from byref.proxy.frontends.reverse.upstreams import Upstream
from byref.proxy.gates import Gate


class _Open(Gate):
    """Lets everything through: a provider's own limits are between it and the client, whose library knows them."""

    def note(self, failed: bool, probe: bool) -> bool:
        """Opens no circuit."""
        return True

    def hush(self, seconds: float) -> None:
        """A Retry-After is for the client."""


class LlmSite(Site):
    """LLM APIs behind a service. scope: of conversations that name no folder of this machine.

    stateless, answers: as `Rewriter` takes them. token: as `Site` takes it.
    """

    def __init__(self, upstreams: Sequence[Upstream], service: Service, scope: str, token: str = "", *, stateless: bool = False,
                 answers: bool = False, clock: Clock = time.time) -> None:
        super().__init__(upstreams, service, scope, token, clock)
        self.gates = {one.name: _Open(one.name, one.limits) for one in upstreams}
        self.rewriter = Rewriter(service.own, self._scope, stateless=stateless, answers=answers)
        self.note: Callable[[str], None] = lambda text: None

    def attach(self, app: web.Application) -> None:
        """Adds the routes."""
        for one in self.upstreams:
            for path in (f"/{one.name}", f"/{one.name}/{{rest:.*}}"):
                resource = app.router.add_resource(path)
                resource.add_route("*", partial(self.handle, one))
                self.service.free.add(resource)
        app.on_response_prepare.append(replies.unsaid)

    async def handle(self, upstream: Upstream, request: web.Request) -> web.StreamResponse:
        """Answers one request."""
        try:
            own = self._admit(upstream, request)
            return await Passage(self, upstream, request, own).answer()
        except Outside as fault:
            return replies.error(fault.status, "refused", str(fault))
        except ConfigError as fault:
            return replies.error(400, "refused", str(fault))
        except Unavailable as fault:
            return replies.held_back(fault)
