"""Who may look: codes, keys, and coming in again when the daemon is another one."""
from __future__ import annotations

import hashlib
import hmac

import pytest

from byref.proxy.frontends.dashboard_door import CODE, KEYS, TICKET, Door
from byref.proxy.frontends.http import Refused


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


def door(token: str = "t" * 40, port: int = 4000, clock: Time | None = None) -> Door:
    return Door(token, lambda: port, clock or Time())


def enters(one: Door, key: str) -> bool:
    try:
        one.check(f"Bearer {key}")
    except Refused:
        return False
    return True


def proof(secret: str, who: str, port: int, nonce: str, challenge: str) -> str:
    """What the page computes (proxy/web/api.js)."""
    return hmac.new(secret.encode(), f"{who} {port} {nonce} {challenge}".encode(), hashlib.sha256).hexdigest()


def test_a_code_gives_a_key_once_and_for_a_while(clock: Time) -> None:
    one = door(clock=clock)
    first, second = one.code(), one.code()
    assert enters(one, str(one.enter(first)["key"])) and enters(one, "t" * 40)
    for code in (first, "x", ""):
        with pytest.raises(Refused, match="run `byref dashboard` again"):
            one.enter(code)
    clock.now += CODE
    with pytest.raises(Refused):
        one.enter(second)
    assert not any(enters(one, key) for key in ("", "x", "t" * 39, "é" * 43))


def test_the_oldest_key_goes_when_there_are_too_many() -> None:
    one = door()
    keys = [str(one.enter(one.code())["key"]) for _ in range(KEYS + 1)]
    assert [enters(one, key) for key in keys] == [False] + [True] * KEYS


def test_a_page_comes_in_again_at_the_next_daemon_of_the_same_token_and_each_proves_itself() -> None:
    first, second = door(), door()
    given = first.enter(first.code())
    name, secret = str(given["name"]), str(given["secret"])
    assert not enters(second, str(given["key"]))
    greeting = second.greet(name, "nonce")
    challenge = str(greeting["challenge"])
    assert greeting["proof"] == proof(secret, "daemon", 4000, "nonce", challenge)
    assert enters(second, str(second.again(name, "nonce", proof(secret, "page", 4000, "nonce", challenge))["key"]))


@pytest.mark.parametrize("other", [{"token": "u" * 40}, {"port": 4001}, {}])
def test_a_proof_is_worth_nothing_for_another_token_port_or_daemon(other: dict[str, object]) -> None:
    """The last: what a page proved to one daemon, played again to the next."""
    first, second = door(), door(**other)  # type: ignore[arg-type]
    given = first.enter(first.code())
    name, secret = str(given["name"]), str(given["secret"])
    challenge = str((second if other else first).greet(name, "nonce")["challenge"])
    mine = proof(secret, "page", 4000, "nonce", challenge)
    for wrong in (mine, str(second.greet(name, "nonce")["proof"]), "", "é"):
        with pytest.raises(Refused):
            second.again(name, "nonce", wrong)


def test_a_program_that_stands_where_the_daemon_did_cannot_prove_that_it_is_one() -> None:
    one, other = door(), door(token="u" * 40)
    given = one.enter(one.code())
    greeting = other.greet(str(given["name"]), "nonce")
    assert greeting["proof"] != proof(str(given["secret"]), "daemon", 4000, "nonce", str(greeting["challenge"]))


def test_a_ticket_is_good_once_and_for_a_minute(clock: Time) -> None:
    one = door(clock=clock)
    ticket, late = one.ticket("scope", "ref", "part"), one.ticket("x")
    assert one.redeem(ticket) == ("scope", "ref", "part")
    with pytest.raises(Refused, match="again"):
        one.redeem(ticket)
    clock.now += TICKET
    for spent in (ticket, late, "", "x"):
        with pytest.raises(Refused, match="again"):
            one.redeem(spent)
