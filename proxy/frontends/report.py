"""`byref report`: what was saved, from the ledger."""
from __future__ import annotations

import argparse
import json
import sys
import threading
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.frontends.command import Command, say, scope_of, to_stdout
from byref.proxy.frontends.held import complain
from byref.proxy.gateway import open as open_gateway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.ledger.tables import Table

# o200k tokens of what an agent's requests carry of us: the definitions of fetch, search and status, what the server says of itself, and
# the skill's name and description. tests/proxy/frontends/test_report.py counts them: a tokenizer takes half a second to load.
DEFINITION = 538
PATIENCE = 3.0  # seconds after which a user is told what takes so long
_EVENT = ("kind", "at", "session", "ref", "tool", "shape", "numbers", "note")


def _options(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--csv", action="store_true", help="as CSV")
    form.add_argument("--events", action="store_true", help="the ledger itself, an event a line, as JSON")
    form.add_argument("--html", metavar="FILE", help="as one page that asks nothing of a network, to a file; - for stdout")
    parser.add_argument("--here", action="store_true", help="of this project alone, not of all that the store has seen")
    parser.add_argument("--days", type=days, metavar="N", help="of the last N days")
    parser.add_argument("--price", action="append", default=[], metavar="MODEL", help="prices of this model; may be given again")
    parser.add_argument("--no-tools", action="store_true", help="agents have byref as commands: no definitions of tools are taken off")
    parser.add_argument("--estimate", action="store_true", help="do not count tokens that are only estimated so far")


def _run(args: argparse.Namespace) -> int:
    from byref.proxy.ledger import tables
    from byref.proxy.ledger.prices import priced, usual
    prices = [priced(model) for model in dict.fromkeys(args.price)] or [usual()]
    with open_gateway() as gateway:
        since = gateway.clock() - args.days * 86400 if args.days else 0.0
        if args.events:
            for event in gateway.store.events(scope_of(gateway) if args.here else None, since=since):
                say(json.dumps({name: getattr(event, name) for name in _EVENT}, ensure_ascii=False) + "\n")
            return 0
        waits = threading.Timer(PATIENCE, complain, ("counts tokens of what no report has counted yet; --estimate does without",))
        waits.daemon = True
        if not args.estimate and sys.stderr.isatty():
            waits.start()
        try:
            found = gateway.report(scope=scope_of(gateway) if args.here else None, since=since, recount=not args.estimate,
                                   definition=0 if args.no_tools else DEFINITION)
        finally:
            waits.cancel()
    drawn = tables.tables(found, prices)
    if args.json:
        money: list[Json] = [{
            "prices": one.prices.name, "read": one.prices.read, "write": one.prices.write, "output": one.prices.output,
            "source": one.source,
            "saved": found.saving(one.prices), "dollars": one.money(found.saving(one.prices)), "bill": found.bill(one.prices),
            "tool_results": shares[0], "of_bill": shares[1]} for one in prices for shares in [found.of_bill(one.prices) or (None, None)]]
        say(json.dumps({**found.as_dict(), "money": money, "kv": tables.kv(found)}, indent=1, ensure_ascii=False) + "\n")
    elif args.csv:
        say(tables.comma(drawn))
    elif args.html:
        from byref.proxy.ledger.page import page
        text = page(drawn, found)
        if args.html == "-":
            say(text)
        else:
            Path(args.html).write_text(text, encoding="utf-8")
    elif not (found.total.calls or found.searches or found.messages):
        say(nothing(args.here, args.days))
    else:
        say(drawn_text(drawn))
    return 0


def nothing(here: bool, days: float | None) -> str:
    """What a report says that has nothing to say."""
    where = " of this project" * here + (f" of the last {days:g} days" if days else "")
    return (f"no call{where} is in the ledger yet: `byref run -- COMMAND`, `byref wrap -- SERVER` and what `byref install HARNESS` sets up "
            "write there\n")


def drawn_text(drawn: list[Table]) -> str:
    """For a terminal by rich, where it is installed; else, and into a pipe, as plain text."""
    from byref.proxy.ledger import tables
    return (to_stdout() and sys.stdout.isatty() and tables.rich(drawn)) or tables.plain(drawn)


def days(text: str) -> float:
    """A number of days on a command line."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days: more than 0, and less than a million")
    return found


REPORT = Command("report", "say what the views saved, by tool, shape, day and session, net of what they cost", _options, _run)
