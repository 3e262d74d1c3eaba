"""What stands before an upstream, on a clock of the test's own: nothing here sleeps."""
from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from byref.proxy.errors import Unavailable
from byref.proxy.gates import Call, Gate, Limits, seconds


class Time:
    """A clock that stands still unless somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, []

    def __call__(self) -> float:
        return self.now

    def block(self, pause: float) -> None:
        self.slept.append(pause)
        self.now += pause

    async def sleep(self, pause: float) -> None:
        self.block(pause)


@pytest.fixture
def time() -> Time:
    return Time()


def gated(time: Time, jitter: float = 1.0, **limits: Any) -> Gate:
    return Gate("api", Limits(**limits), clock=time, wall=time, jitter=lambda: jitter, sleep=time.sleep, block=time.block)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


async def ask(gate: Gate, *answers: int | None, safe: bool = True, retry_after: str | None = None) -> int:
    """A call whose attempts are answered so, None for no answer. How many of them were made."""
    made = 0
    async with gate.call(safe) as call:
        for status in answers:
            made += 1
            again = await (call.failed() if status is None else call.answered(status, retry_after if status >= 400 else None))
            if not again:
                break
    return made


def refusal(gate: Gate) -> Unavailable:
    with pytest.raises(Unavailable) as caught, gate.blocking():
        pass
    return caught.value


# the rate -------------------------------------------------------------------------------------------

def test_a_second_has_no_more_requests_than_its_rate_allows(time: Time) -> None:
    async def test() -> None:
        gate, times = gated(time, rate=100), []
        for _ in range(300):
            await ask(gate, 200)
            times.append(time.now)
        assert times[9] == 1000.0, "a small burst waits for nobody"
        assert times[-1] == pytest.approx(1000 + 290 / 100)
        assert max(sum(start <= at < start + 1 for at in times) for start in times) <= 110
    run(test())


def test_an_api_of_a_lower_rate_is_asked_more_slowly(time: Time) -> None:
    async def test() -> None:
        gate = gated(time, rate=2)
        for _ in range(5):
            await ask(gate, 200)
        assert time.slept == [pytest.approx(0.5)] * 4
    run(test())


def test_who_would_wait_too_long_is_told_when_to_come_back(time: Time) -> None:
    gate = gated(time, rate=1, patience=2)
    time_less = Gate("api", gate.limits, clock=time, block=lambda pause: None)
    for _ in range(3):
        with time_less.blocking():
            pass
    fault = refusal(time_less)
    assert (fault.reason, fault.retry_after) == ("rate", pytest.approx(3)) and "try again in 3 s" in str(fault)
    time.now += 2
    with time_less.blocking():
        pass


def test_what_the_api_asks_for_holds_for_everybody(time: Time) -> None:
    async def test() -> None:
        gate = gated(time)
        assert await ask(gate, 429, safe=False, retry_after="20") == 1
        await ask(gate, 200)
        assert time.now == pytest.approx(1020)
        assert await ask(gate, 429, safe=False, retry_after="3600") == 1
        fault = refusal(gate)
        assert (fault.reason, fault.retry_after) == ("rate", pytest.approx(3600)) and "left alone" in str(fault)
    run(test())


# retries --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("passing", [429, 502, 503, 504, None])
def test_a_safe_call_is_made_again_and_no_more_than_thrice(time: Time, passing: int | None) -> None:
    async def test() -> None:
        assert await ask(gated(time), passing, 200, 200) == 2
        assert await ask(gated(time), passing, passing, passing, passing) == 3
        assert time.slept == [0.5, 0.5, 1.0], "each pause may be twice as long as the one before"
    run(test())


@pytest.mark.parametrize("lasting", [200, 301, 400, 404, 500, 501])
def test_an_answer_that_will_not_change_stands(time: Time, lasting: int) -> None:
    run(_once(gated(time), lasting, True))


@pytest.mark.parametrize("status", [429, 503, None])
def test_a_call_that_changes_something_is_made_once(time: Time, status: int | None) -> None:
    run(_once(gated(time), status, False))


async def _once(gate: Gate, status: int | None, safe: bool) -> None:
    assert await ask(gate, status, status, safe=safe) == 1


def test_a_pause_is_drawn_so_that_callers_do_not_come_back_together(time: Time) -> None:
    async def test() -> None:
        for jitter in (0.25, 0.75):
            await ask(gated(time, jitter), 503, 200)
        assert time.slept == [0.125, 0.375]
    run(test())


def test_the_api_says_how_long_to_wait(time: Time) -> None:
    async def test() -> None:
        assert await ask(gated(time, jitter=0), 503, 200, retry_after="7") == 2
        assert time.slept == [7.0]
        assert await ask(gated(time, patience=5), 503, 200, retry_after="7") == 1, "longer than a caller waits: the answer stands"
    run(test())


@pytest.mark.parametrize(("header", "found"), [
    ("120", 120.0), ("0", 0.0), ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0), ("Thu, 01 Jan 1970 00:20:00 GMT", 200.0), ("soon", None),
    ("", None), (None, None), ("-5", None), ("1e9", None), ("²", None)])
def test_retry_after_is_seconds_or_a_date(header: str | None, found: float | None) -> None:
    assert seconds(header, 1000.0) == found


# the circuit ----------------------------------------------------------------------------------------

def test_the_circuit_opens_after_five_failures_and_is_tried_after_thirty_seconds(time: Time) -> None:
    async def test() -> None:
        gate = gated(time)
        for _ in range(5):
            await ask(gate, 500)
        fault = refusal(gate)
        assert (fault.reason, fault.retry_after) == ("circuit", 30.0)
        time.now += 29
        assert refusal(gate).retry_after == 1.0
        time.now += 1
        async with gate.call() as trying:
            assert refusal(gate).reason == "circuit", "one tries, others wait for what it finds"
            await trying.answered(200)
        await ask(gate, 200)
    run(test())


def test_who_tries_in_vain_opens_it_again(time: Time) -> None:
    async def test() -> None:
        gate = gated(time)
        for _ in range(5):
            await ask(gate, None, safe=False)
        time.now += 31
        assert await ask(gate, 503, 200) == 1, "the next attempt is for thirty seconds later"
        assert refusal(gate).retry_after == 30.0
    run(test())


def test_who_tries_and_is_called_off_leaves_it_to_the_next(time: Time) -> None:
    async def test() -> None:
        gate = gated(time)
        for _ in range(5):
            await ask(gate, 500)
        time.now += 31
        async with gate.call():
            pass
        await ask(gate, 200)
        await ask(gate, 200)
    run(test())


def test_a_success_in_between_begins_the_count_anew_and_what_the_caller_did_wrong_counts_as_one(time: Time) -> None:
    async def test() -> None:
        gate = gated(time)
        for status in (500, 500, 500, 500, 404, 500, 500, 500, 500, 200):
            await ask(gate, status)
        async with gate.call() as call:
            await call.answered(200)
            call.broken()
        for _ in range(4):
            await ask(gate, 500)
        assert refusal(gate).reason == "circuit", "a body that broke off is a failure"
    run(test())


# how many at once -----------------------------------------------------------------------------------

def test_no_more_are_under_way_than_may_be_and_the_others_come_in_turn(time: Time) -> None:
    async def test() -> None:
        gate, now, most, order = gated(time, concurrency=3, rate=1e6), 0, 0, []

        async def one(number: int) -> None:
            nonlocal now, most
            async with gate.call():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                order.append(number)
                now -= 1
        await asyncio.gather(*(one(number) for number in range(50)))
        assert (most, now) == (3, 0) and order == sorted(order)
    run(test())


def test_who_finds_no_place_is_told_so_and_one_who_gives_up_takes_none_along(time: Time) -> None:
    async def test() -> None:
        gate = gated(time, concurrency=1, patience=0, rate=1e6)
        async with gate.call():
            with pytest.raises(Unavailable) as caught:
                await ask(gate, 200)
            assert caught.value.reason == "busy" and caught.value.retry_after == 1.0
        gate = gated(time, concurrency=1, rate=1e6)
        first = gate.call()
        await first.__aenter__()
        waiting = [asyncio.ensure_future(ask(gate, 200)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await first.__aexit__(None, None, None)  # gives its place to one that is cancelled by now, or to the next
        waiting[1].cancel()
        assert await waiting[2] == 1
        await ask(gate, 200)
    run(test())


def test_threads_and_coroutines_keep_the_same_limit() -> None:
    gate = Gate("api", Limits(concurrency=2, rate=1e6))
    now, most, lock = 0, 0, threading.Lock()

    def enter(step: int) -> None:
        nonlocal now, most
        with lock:
            now += step
            most = max(most, now)

    def work() -> None:
        for _ in range(50):
            with gate.blocking() as call:
                enter(1)
                assert not call.answered(200)
                enter(-1)

    async def works() -> None:
        async def one() -> None:
            for _ in range(50):
                async with gate.call() as call:
                    enter(1)
                    assert isinstance(call, Call)
                    await asyncio.sleep(0)
                    enter(-1)
        await asyncio.gather(*(one() for _ in range(4)))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    run(works())
    for thread in threads:
        thread.join()
    assert (now, most) == (0, 2)


def test_a_thread_asks_again_as_a_coroutine_does(time: Time) -> None:
    gate = gated(time)
    with gate.blocking(safe=True) as call:
        assert call.failed() and call.answered(503, "4") and not call.answered(503)
    assert time.slept == [0.5, 4.5]
