"""The LLM APIs of a daemon: `byref serve --llm` gives each at /llm/NAME/, where its clients' base URL points."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from aiohttp import web

from byref.proxy.contracts import Clock
from byref.proxy.frontends.http import Service
from byref.proxy.frontends.llm.passage import Passage
from byref.proxy.frontends.llm.rewriting import Rewriter
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
        self._route(app)

    def _exchange(self, upstream: Upstream, request: web.Request, own: bool) -> Passage:
        return Passage(self, upstream, request, own)
