"""What a replay found, as text for a terminal, as JSON and as CSV."""
from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byref.proxy.contracts import Json
from byref.proxy.ledger.intervals import LEVEL, TIMES, Interval
from byref.proxy.ledger.prices import EXTRA, Priced, priced
from byref.proxy.ledger.savings import Money, Regime, Savings, Tool
from byref.proxy.ledger.summary import PIECE, Summary
from byref.proxy.ledger.tally import Count

GIGA = 1e9
WIDTH = 118  # columns of running text
FEW = 50  # sessions; of 20 drawn from 99 recorded ones 87 of 100 intervals hold the truth, of 60 93
CANNOT = (
    "whether the agent would have done as well: these sessions saw the raw text, and only what they used later is known",
    "how often it would have asked again. Every output with a string that the agent wrote later and that the view's data lacks counts as "
    "one extra request, and so does every edit with a line in no view: plain words make that more than happens, what was read and never "
    "written makes it less",
    "what stands between the agent and its tools. In sessions of Claude Code, Codex and OpenCode results of edits stay as they are, and of "
    "the first and the last failures, which hooks do not change; before the model's API (`byref serve --llm`) they become views, too",
    "what the harness sends of its own (system prompt, tool definitions) where the file does not hold the usage of its requests",
    "caches that ran out, retries, and answers that were billed but are not in the files")


@dataclass(frozen=True, slots=True)
class Found:
    """A replay: its files, what could not be read, and the savings by profile, the main one first."""

    files: Sequence[str]
    faults: Sequence[str]
    counter: str
    savings: Mapping[str, Savings]
    definitions: int
    prices: Sequence[Priced]
    widths: Mapping[str, int]  # bytes that a model's KV cache keeps of a token

    @property
    def main(self) -> tuple[str, Savings]:
        """The first profile and its savings."""
        return next(iter(self.savings.items()))


def text(found: Found) -> str:
    """The answer to "what would byref have saved me", first things first."""
    profile, savings = found.main
    total = savings.total.count
    if not savings.sessions:
        return "no session with a tool call or a bill was found\n"
    tokens, regimes = savings.tokens(), savings.regimes([one.prices for one in found.prices])
    sources = ", ".join(f"{count} {name}" for name, count in sorted(savings.sources.items(), key=lambda item: -item[1]))
    first, forced = regimes[0], savings.total.forced
    out = [*_filled(f"{savings.sessions} sessions ({sources}), {savings.requests} requests, {total.outputs} tool outputs."), "",
           f"With byref's profile `{profile}` {_percent(tokens['saved'])} of the {total.raw:,} tokens of tool outputs would have been "
           "left out.",
           f"At {first.prices.name} prices tool outputs are {_percent(first.most)} of the bill. Of the whole bill it would have saved",
           f"  {_percent(first.gross)} gross, if nothing had been asked again;",
           f"  {_percent(first.fetched)} net, had it fetched what it used and had not been shown: {forced} times {PIECE:,} tokens;",
           f"  {_percent(first.again)} net, had it made the call again each of these {forced} times.",
           f"In parentheses: {100 * LEVEL:.0f} % intervals. Which net is nearer depends on the agent; `--profile safe` hides less.",
           *([f"Intervals of fewer than {FEW} sessions are too narrow: a few long ones make up most of a bill."]
             if 1 < savings.sessions < FEW else []), ""]
    if savings.already:
        out += [f"{savings.already} outputs were views of byref already when they were recorded: they count as they are.", ""]
    out += _money(savings, savings.money())
    out += [_heads("tool", ("outputs", 8), ("tokens", 11), ("left out", 10), ("of the bill", 12),
                   ("saved of the bill, net if fetched", 35))]
    out += [_tool(one) for one in savings.by_tool()]
    names = f"{'outputs are':>12}{'gross':>8}{'net, fetched':>24}{'net, called again':>24}{'net, fetched, is':>18}"
    out += ["", f"{'shares of the whole bill at prices':<40}{names}"]
    out += [_regime(one, each) for one, each in zip(regimes, found.prices, strict=True)]
    out += _filled("In brackets: the price of a token read from the cache, written to it, and put out, in times of an uncached input "
                   "token; the last column is in such tokens, or in dollars where the list price is known.")
    out += ["", _heads("KV cache, if you serve", ("KiB/token", 12), ("GB", 10), ("saved", 10), ("net", 10), ("GB-turns", 11),
                       ("saved", 10))]
    for name, width in found.widths.items():
        held = savings.kv(width)
        out.append(f"{name:<30}{width / 1024:>12.1f}{held['raw'] / GIGA:>10.2f}{held['saved'] / GIGA:>10.2f}{held['net'] / GIGA:>10.2f}"
                   f"{held['turns_raw'] / GIGA:>11.1f}{held['turns_saved'] / GIGA:>10.1f}")
    out += _filled("GB: what tool outputs take in bf16 at the ends of all sessions together, what views save of it, and that net of "
                   "fetches. GB-turns: what is held at each request, summed.")
    out += ["", _heads("tokens of context at request", ("sessions", 10), ("as it was", 12), ("with views", 12))]
    out += [f"{number:<30}{sessions:>10}{raw:>12,.0f}{view:>12,.0f}" for number, sessions, raw, view in savings.by_request()]
    out += ["", *_filled(_kept(tokens, total))]
    out += _profiles(found)
    out += ["", *_filled(
        f"How: each recorded output went through byref as it came, in a store in memory. Tokens: {found.counter}. Intervals: bootstrap by "
        f"session, {TIMES:,} draws. Outputs are as the model saw them, after what the harness cut itself. Each net pays for the "
        f"{found.definitions} tokens of byref's own tools in each session."), "", "What this cannot know:"]
    out += [line for one in CANNOT for line in _filled(one, "- ")]
    if found.faults:
        out += ["", f"Not read: {len(found.faults)} (told above)"]
    return "\n".join(out) + "\n"


def _kept(tokens: Mapping[str, Interval], total: Count) -> str:
    said = []
    if total.used:
        said.append(f"of the paths, names and numbers in outputs that the agent wrote later, {_percent(tokens['data'])} stand in the view "
                    f"itself, {_percent(tokens['es'])} there or in the label of what is left out")
    if total.edits:
        said.append(f"of the lines that edits replaced a view showed {_percent(tokens['edit'])} before")
    if not said:
        return "What views keep is not known: nothing that stood in an output was written by the agent later."
    return f"What views keep: {'; '.join(said)}. That is {tokens['need'].value:.2f} losses per 1,000 tokens left out."


def _filled(words: str, mark: str = "") -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark), break_long_words=False)


def _profiles(found: Found) -> list[str]:
    (name, main), *others = found.savings.items()
    if not others:
        return []
    out = ["", _heads(f"in points, beside {name}", ("left out", 22), ("data", 22), ("net, fetched", 22), ("net, called again", 22))]
    for other, savings in others:
        by = main.differences(savings)
        out.append(f"profile {other:<22}" + "".join(f"{_points(by[key]):>22}" for key in ("saved", "data", "fetched", "again")))
    return out


def _money(savings: Savings, money: Sequence[Money]) -> list[str]:
    if not money:
        return [f"In dollars: unknown; these files hold no usage of a model whose list prices are known here ({EXTRA}).", ""]
    out = [f"At list prices ({priced(money[0].model).source}), of what these files say was billed:"]
    for one in money:
        out += _filled(f"{one.model}: {_dollars(one.bill)} in {one.sessions} sessions; saved {_dollars(one.gross.value)} gross, net "
                       f"{_dollars(one.fetched.value)}{_span(one.fetched, 1, 2)} if fetched, {_dollars(one.again.value)}"
                       f"{_span(one.again, 1, 2)} if called again", "  ")
    if savings.unbilled:
        out.append(f"  {savings.unbilled} sessions are without usage or a known model")
    return [*out, ""]


def _dollars(value: float) -> str:
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def _heads(first: str, *others: tuple[str, int]) -> str:
    return f"{first:<30}" + "".join(f"{name:>{width}}" for name, width in others)


def _tool(one: Tool) -> str:
    count = one.sums.count
    left = 1 - count.view / count.raw if count.raw else math.nan
    return f"{one.name[:29]:<30}{count.outputs:>8}{count.raw:>11,}{_plain(left):>10}{_plain(one.most):>12}{_percent(one.fetched, 2):>35}"


def _regime(one: Regime, listed: Priced) -> str:
    prices = one.prices
    name = f"{prices.name} ({prices.read:g}, {prices.write:g}, {prices.output:g})"
    net = one.fetched.value * one.bill
    money = listed.money(net)
    return (f"{name:<40}{_plain(one.most.value):>12}{_plain(one.gross.value):>8}{_percent(one.fetched):>23} {_percent(one.again):>23} "
            f"{f'{net:,.0f}' if money is None else _dollars(money):>17}")


def _plain(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f} %"


def _percent(of: Interval, digits: int = 1) -> str:
    return _plain(of.value, digits) + _span(of, 100, digits)


def _points(of: Interval) -> str:
    return "–" if math.isnan(of.value) else f"{100 * of.value:+.1f}{_span(of, 100, 1)}"


def _span(of: Interval, times: float, digits: int) -> str:
    return "" if math.isnan(of.low) else f" ({times * of.low:.{digits}f} to {times * of.high:.{digits}f})"


def as_dict(found: Found) -> dict[str, Json]:
    """All figures as plain values; a share of nothing is null, an interval [figure, low, high]."""
    profiles: dict[str, Json] = {}
    for name, savings in found.savings.items():
        total, tokens = savings.total.count, savings.tokens()
        profiles[name] = {
            "sessions": savings.sessions, "requests": savings.requests, "outputs": total.outputs, "raw_tokens": total.raw,
            "view_tokens": total.view, "forced": savings.total.forced, "longer": total.longer, "already": savings.already,
            "evidence": {key: _three(value) for key, value in tokens.items()},
            "regimes": [{"name": one.prices.name, "read": one.prices.read, "write": one.prices.write, "output": one.prices.output,
                         "bill": one.bill, "most": _three(one.most), "gross": _three(one.gross), "fetched": _three(one.fetched),
                         "again": _three(one.again)} for one in savings.regimes([each.prices for each in found.prices])],
            "tools": [{"tool": one.name, "outputs": one.sums.count.outputs, "raw_tokens": one.sums.count.raw,
                       "view_tokens": one.sums.count.view, "forced": one.sums.forced, "most": _number(one.most),
                       "gross": _three(one.gross), "fetched": _three(one.fetched), "again": _three(one.again)}
                      for one in savings.by_tool()],
            "money": [{"model": one.model, "sessions": one.sessions, "bill": one.bill, "gross": _three(one.gross),
                       "fetched": _three(one.fetched), "again": _three(one.again)} for one in savings.money()],
            "kv": {model: dict(savings.kv(width)) for model, width in found.widths.items()},
            "contexts": [{"request": number, "sessions": sessions, "raw": raw, "view": view}
                         for number, sessions, raw, view in savings.by_request()]}
    return {"files": len(found.files), "faults": list(found.faults), "counter": found.counter, "definitions": found.definitions,
            "interval": {"level": LEVEL, "times": TIMES, "by": "session"}, "prices": [one.text for one in found.prices],
            "profiles": profiles, "cannot_know": list(CANNOT)}


def _number(value: float) -> Json:
    return None if math.isnan(value) else value


def _three(of: Interval) -> Json:
    return [_number(value) for value in of]


COLUMNS = ("session", "source", "model", "profile", "requests", "tool", "outputs", "raw", "view", "raw_read", "view_read", "forced",
           "again_read", "again_written", "again_output", "fetched_read", "fetched_written", "fetched_output")


def rows(profile: str, one: Summary) -> str:
    """A session's lines of CSV, one a tool; tokens."""
    into = io.StringIO()
    writer = csv.writer(into)
    for tool, sums in sorted(one.tools.items()):
        count, again, fetched = sums.count, sums.again, sums.fetched
        writer.writerow((one.id, one.source, one.model, profile, one.requests, tool, count.outputs, count.raw, count.view,
                         sums.raw.read, sums.view.read, sums.forced, again.read, again.write, again.output, fetched.read, fetched.write,
                         fetched.output))
    return into.getvalue()
