"""What `make bench` runs: for each benchmark what it measures, against what, how it is run, and the figures that are held against bars.

A figure is read from what the benchmark printed, with a pattern; so it can be read from an older docs/benchmarks.md, too. Bars are those
of the project's goals; a figure without one is there to be compared with itself. `ratio` marks figures that do not depend on the machine,
`times` those of them that are a time in times of a reference's: they are drawn in docs/beside.svg.
"""
from __future__ import annotations

import re
from dataclasses import dataclass

CORPUS = "../shared/corpus"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a benchmark. pattern: its group is the figure, or several numbers of which the middle one counts; two groups are a
    quotient. Where it matches more than once, the worst counts. more: the higher the better.
    """

    label: str
    pattern: str
    bar: float | None = None
    unit: str = ""
    more: bool = False
    ratio: bool = False
    times: bool = False

    def seen(self, said: str) -> float | None:
        """The figure in what a benchmark printed; None where it does not stand there."""
        found = []
        for match in re.finditer(self.pattern, said, re.M):
            parts = [sorted(map(_number, group.split(","))) for group in match.groups()]
            middle = [numbers[len(numbers) // 2] for numbers in parts]
            if len(middle) == 1 or middle[1]:
                found.append(middle[0] if len(middle) == 1 else middle[0] / middle[1])
        if not found:
            return None
        return min(found) if self.more else max(found)

    def met(self, value: float) -> bool:
        """Whether the bar is met; a figure without one always does well."""
        return self.bar is None or (value >= self.bar if self.more else value <= self.bar)

    def worse(self, before: float, now: float) -> float:
        """By what share the figure got worse; below 0 where it got better."""
        if self.more:
            before, now = now, before
        return now / before - 1 if before > 0 else float(now > before)


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark. commands: its arguments, once for each time that it runs; full: those of the full sizes, where they differ.
    text: what is measured, and beside what.
    """

    name: str
    title: str
    group: str
    text: str
    figures: tuple[Figure, ...] = ()
    commands: tuple[str, ...] = ("",)
    full: tuple[str, ...] = ()


def _number(text: str) -> float:
    return float(text.strip().replace(",", ""))


VIEWS, SEARCH, WAYS, MONEY = "Views and the store", "Search", "Ways in", "Money"
SECTIONS = (
    Section("views", "Views", VIEWS,
            "How long a view takes, and how much memory, for one output of each shape (35 KB, about 10,000 tokens), for outputs of tools "
            "that have a rule, and for three huge ones; processor time. Beside it in the same run: a head+tail cut, one Python loop over "
            "the lines, zstd alone.",
            (Figure("10,000 tokens, p50", r"^all kinds, 10k tokens +\d+ +[\d.]+% +([\d.]+)", 5, "ms"),
             Figure("10,000 tokens, p99", r"^all kinds, 10k tokens +\d+ +[\d.]+% +[\d.]+ +([\d.]+)", 15, "ms"),
             Figure("10,000 tokens, p50, in times of one loop over the lines",
                    r"^all kinds, 10k tokens +\d+ +[\d.]+% +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)", ratio=True, times=True),
             Figure("listing of 100,000 lines", r"^listing, 100,000 lines +\d+ +[\d.]+% +([\d.]+)", 150, "ms"),
             Figure("one line of 5 MB", r"^one line of 5 MB +\d+ +[\d.]+% +([\d.]+)", 300, "ms"),
             Figure("log of 100 MB", r"^log of 100 MB +\d+ +[\d.]+% +([\d.]+)", 2000, "ms"),
             Figure("log of 100 MB, in times of zstd alone", r"^log of 100 MB +\d+ +[\d.]+% +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)",
                    ratio=True, times=True),
             Figure("log of 100 MB, memory", r"^log of 100 MB .*memory ([\d.]+) MB", 150, "MB"))),
    Section("store", "The store", VIEWS,
            "How fast the file store takes 100 MB of log in, gives 100 lines from the middle back, and serves eight writing processes, and "
            "what grows with 100,000 outputs in it. Beside it: zstd, BLAKE2b, a plain write and fsync loops of the same run.",
            (Figure("100 MB taken in", r"^take in 100 MB, each of 3 +([\d., ]+) MB", 100, "MB/s", more=True),
             Figure("of what zstd alone does", r"^ +of zstd alone +([\d., ]+)$", more=True, ratio=True, times=True),
             Figure("extra memory", r"^ +extra memory +([\d.]+) MB", 64, "MB"),
             Figure("100 lines from the middle, p50", r"^100 lines from the middle.*? ([\d.]+), [\d.]+ ms", 5, "ms"),
             Figure("eight writers, longest commit", r"^ +a commit takes.*, (\d+) ms", 250, "ms"),
             Figure("eight writers, largest WAL", r"^ +largest WAL +([\d.]+) MB", 16, "MB"))),
    Section("start", "Starting `byref run`", VIEWS,
            "What `byref run` adds to a command, a durable commit included. Beside it: the bare command and `python -c pass`, interleaved.",
            (Figure("`byref run -- true`, in times of Python's start", r"^byref run -- true over the bare command: ([\d.]+) times", 3,
                    ratio=True, times=True),
             Figure("the same in processor time", r"^byref run -- true over .*, ([\d.]+) in processor time", ratio=True))),
    Section("hook_evidence", "Hooks show the same views", VIEWS,
            "Recorded sessions of Claude Code once through the library and once as hook events: figures of `figures.md` for both. They "
            "differ by the cell that a view of a read stands in, and by nothing else.",
            (Figure("furthest apart", r"^(?:saved|es|data|edit) +[\d.]+ +[\d.]+ +([\d.]+)$", 0.005),)),
    Section("llm_evidence", "The LLM proxy shows the same views", VIEWS,
            "Recorded tasks once through the library and once as requests of three LLM APIs: the same figures for all.",
            (Figure("furthest apart", r"^furthest apart: ([\d.]+)", 0.005),), commands=("--limit 20",), full=("",)),
    Section("es1", "What one search finds again", VIEWS,
            "Of the strings that the agent used later and that a view's data lacks, the share (`found`) that one search in that output "
            "brings back, for the call's arguments and what the agent had written; `net` is what is saved after those searches. Beside it: "
            "`data`, without a search.",
            (Figure("found of what was lost", r"found ([\d.]+)", 0.5, more=True),),
            commands=(f"{CORPUS}/trajectories-local.jsonl", f"{CORPUS}/trajectories-open.jsonl")),
    Section("retrieval", "Quality of search", SEARCH,
            "How well a search finds the document that answers a question, by set of questions (`bench/sets`, written by hand before "
            "anything was tried on them, and Cranfield). `search` is the whole, with a late-interaction model where one is there "
            "(`make models`; MiniLM stands in for a trained one); `cheap` is the same without models. Beside it: `bm25s` as it comes.",
            (Figure("paraphrases without a model, MRR@10", r"^cheap +paraphrase +\S+ +\S+ +(\S+)", 0.42, more=True, ratio=True),
             Figure("paraphrases with MiniLM, MRR@10", r"^late interaction takes part(?:.*\n)*?search +paraphrase +\S+ +\S+ +(\S+)",
                    0.62, more=True, ratio=True),
             Figure("identifiers, MRR@10", r"^(?:cheap|search) +identifier +\S+ +\S+ +(\S+)", 0.98, more=True, ratio=True),
             Figure("typing errors, MRR@10", r"^(?:cheap|search) +typo +\S+ +\S+ +(\S+)", 0.90, more=True, ratio=True),
             Figure("Cranfield, nDCG@10 in times of bm25s",
                    r"^cheap +cranfield +\S+ +\S+ +\S+ +(\S+)(?:.*\n)*?bm25s +cranfield +\S+ +\S+ +\S+ +(\S+)", 1, more=True, ratio=True)),
            commands=("cheap bm25s", "search --tag paraphrase --tag identifier --tag typo --tag language"), full=("",)),
    Section("speed", "Speed of search", SEARCH,
            "Text and patterns over captured outputs, words over 10,000 outputs, the first search over a fresh output, and building an "
            "index. Beside it: `bytes.find` and RE2 over the same bytes in memory, `rg` over a file, plain bm25s over the same chunks.",
            (Figure("a pattern over stored outputs through rg", r"^  /.* with rg +(\d+) \(", 500, "MB/s", more=True),
             Figure("a pattern by RE2 alone", r"^  /.*without rg +(\d+) \(", 350, "MB/s", more=True),
             Figure("words over 10,000 outputs, p50", r"^  byref ([\d.]+), best", 25, "ms"),
             Figure("words, in times of bm25s alone", r"^  byref ([\d.]+), best.*\n  plain bm25s over its \d+ chunks ([\d.]+)",
                    ratio=True, times=True),
             Figure("first search over a fresh 10 MB, best run", r"^  .* wall best +(\d+), median", 60, "ms")),
            commands=("--text 60",), full=("",)),
    Section("nearest", "Static embeddings", SEARCH,
            "The nearest 200 of 200,000 chunks, from mapped files of int8. Beside it: float32 held in memory, and the products alone.",
            (Figure("all chunks, p50", r"^  all +p50 +([\d.]+)", 10, "ms"),
             Figure("in times of float32 in memory",
                    r"^  all +p50 +([\d.]+)(?:.*\n)*?  float32 in memory, products alone +p50 +([\d.]+)", ratio=True, times=True))),
    Section("maxsim", "Late interaction", SEARCH,
            "MaxSim over token vectors in memory and from sidecars, over a million tokens, and cut short. Beside it: the bare kernel on "
            "float32 in memory, the quicker of its two ways round. With torch only where it is installed (`make bench-late`).",
            (Figure("in memory, in times of the bare kernel", r"in memory ([\d.]+) \(bar", 1.3, ratio=True, times=True),
             Figure("from sidecars, in times of the bare kernel", r"from sidecars ([\d.]+) \(bar 2", 2, ratio=True, times=True),
             Figure("from sidecars with torch", r"from sidecars ([\d.]+) \(bar 1", 1.5, ratio=True),
             Figure("memory for a million tokens", r"in [\d.]+ ms, ([\d.]+) MiB beside", 32, "MiB"),
             Figure("ends after a cancel", r"at most ([\d.]+) \(bar 50\)", 50, "ms"))),
    Section("encoders", "Encoders", SEARCH,
            "What the project adds to a model of token vectors. Beside it: the bare model on the same texts, batches and threads.",
            (Figure("in times of the bare model", r"^\S+ +\d+ +\d+ +\d+ +([\d.]+)x", ratio=True, times=True),)),
    Section("punctual", "Timeboxes are kept", SEARCH,
            "How far a search overruns its timebox, idle, beside two busy processes, and with a layer that never returns. Beside it: how "
            "late a bare sleep of the same length is.",
            (Figure("idle, worst p99", r"^idle: worst p99 ([\d.]+) ms", 15, "ms"),
             Figure("two busy processes, worst p99", r"^busy: worst p99 ([\d.]+) ms", 35, "ms")),
            commands=("--small --times 100",), full=("",)),
    Section("anytime", "Quality against the timebox", SEARCH,
            "MRR@10 from 5 ms to 2 s, over documents among megabytes of logs in one scope; without layers that run a model. Also "
            "`make curve`.\n\n![MRR@10 of a search by its timebox, a line for each set of questions](anytime.svg)",
            commands=("--write --every 4",), full=("--write",)),
    Section("knobs", "Ways to keep token vectors", SEARCH,
            "What bf16, int8, pooling and fewer axes cost in quality, over all chunks and over candidates. Beside it: float32.",
            commands=(), full=("",)),
    Section("hooks", "Hooks", WAYS,
            "What a hook costs a harness, for an empty event and for 100 KB of output that is stored durably and viewed. Beside it: "
            "Python's own start, interleaved.",
            (Figure("an empty event, in times of Python's start", r"^hook over an empty call: ([\d.]+) times", 2, ratio=True, times=True),
             Figure("100 KB, p50", r"at 100 KB p50 (\d+) ms", 60, "ms"), Figure("100 KB, p99", r"p99 (\d+) ms \(bar 150", 150, "ms"),
             Figure("memory of the client", r"^memory of the client (\d+) MB", 30, "MB"))),
    Section("wrap", "`byref wrap`", WAYS,
            "What the wrapper of an MCP server adds to a call over stdio, each large result stored durably and viewed. Beside it: a "
            "pass-through on the SDK, and fastmcp's proxy where it is installed (the environment of `make peers` has it), interleaved.",
            (Figure("a small result, in parts of its bar (1.4 pass-throughs and an fsync)",
                    r"byref adds ([\d.]+) ms, \w+ 1.4 times the pass-through and one fsync: ([\d.]+)", 1, ratio=True),
             Figure("a large one, with the view",
                    r"byref adds ([\d.]+) ms, \w+ 1.4 times the pass-through, the view and one fsync: ([\d.]+)", 1, ratio=True),
             Figure("a small result, in times of the bare server",
                    r"^small result:\n  direct(?=(?:.*\n)*?  byref +p50 +([\d.]+)) +p50 +([\d.]+)", ratio=True, times=True),
             Figure("what it adds, in times of what fastmcp adds", r"fastmcp's proxy adds that is ([\d.]+)", 0.3, ratio=True, times=True),
             Figure("ready, over the server's own start", r"own start ([\d.]+) s", 1, "s"),
             Figure("a result of 50 MB, peak", r"peak (\d+) MB", 400, "MB"),
             Figure("grown over 8,000 calls", r"grew by ([\d.]+) MB", 8, "MB"))),
    Section("llm", "The LLM proxy", WAYS,
            "What `byref serve --llm` adds to a request of 200 KB whose results are known, for three APIs. Beside it: the provider itself "
            "(a server on this machine), interleaved.",
            (Figure("added, p50", r"through, added +([\d.]+) \(bar 5\); first", 5, "ms"),
             Figure("a request, in times of the bare provider", r"p50 (?=.*?direct, +([\d.]+) through) +([\d.]+) ms direct", ratio=True,
                    times=True),
             Figure("first streamed byte, added", r"first streamed byte .*added +([\d.]+) \(bar 5\)", 5, "ms"))),
    Section("llm_prefix", "No request begins otherwise than before", WAYS,
            "Recorded tasks as the requests of three APIs, through four processes that take turns, with a compaction and another version "
            "of views. A changed beginning breaks the provider's cache, so the bar is none at all.",
            (Figure("changed beginnings", r"changed +(\d+)", 0),), commands=("--limit 60",), full=("",)),
    Section("reverse", "APIs through `byref serve --upstream`", WAYS,
            "What the daemon adds to an HTTP API: each answer is stored durably before its ref goes out. Beside it: the API itself, an "
            "fsync and a capture of the same bytes, interleaved.",
            (Figure("10 KB, p50, beside one fsync", r"beside one fsync ([\d.]+) \(bar", 2, "ms"),
             Figure("10 KB, in times of the bare API", r"^direct(?=(?:.*\n)*?byref +p50 +([\d.]+)) +p50 +([\d.]+)", ratio=True,
                    times=True),
             Figure("first byte of an event stream, added", r"^first byte of an event stream: added p50 ([\d.]+)", 5, "ms"),
             Figure("small answers", r"^small answers a second, 16 clients: (\d+)", 500, "a second", more=True),
             Figure("200 MB: grown until stored", r"by (\d+) until it was stored", 30, "MB"))),
    Section("adapters", "Tool adapters", WAYS,
            "Recorded answers of APIs through their adapters: tokens of a view beside the raw answer, what it shows of every record, and "
            "what one search finds of the rest.",
            (Figure("OpenAlex, median view", r"^openalex +\d+ +\d+ +([\d.]+)", 0.12, "of raw", ratio=True),
             Figure("all answers, saved", r"^all +\d+ +\d+ +[\d.]+ +([\d.]+)", 0.6, more=True, ratio=True),
             Figure("identifiers of records that no view shows", r"^identifiers of records that no view shows: (\d+) of (\d+)",
                    ratio=True))),
    Section("dashboard", "The dashboard", WAYS,
            "First paint over 100,000 outputs in headless Chromium, each time with a fresh profile. Beside it: the same over 60 outputs, "
            "interleaved.",
            (Figure("first paint", r"^first-paint +(\d+)", 1000, "ms"), Figure("first page of outputs", r"^listed +(\d+)", None, "ms"),
             Figure("first page of outputs, in times of a small store's", r"^listed .* ([\d.]+)$", ratio=True, times=True))),
    Section("billed", "Simulated bills beside real ones", MONEY,
            "Is the cost model of `byref replay` and `byref report` true? Recorded conversations that carry what the provider billed; two "
            "constants are fitted on one half, the other is held out, then the halves are exchanged, and twenty are drawn "
            "([measuring.md](measuring.md)).",
            (Figure("price, sum off by", r"^\| price \|.*?\| [+-]([\d.]+)% \|", 3, "%"),
             Figure("price, median conversation off by", r"^\| price \|.*\| ([\d.]+)%(?: !)? \|$", 10, "%"))),
    Section("report", "`byref report`", MONEY,
            "How long a report takes over the ledger of 100,000 outputs; processor time. Beside it: reading the same rows with sqlite3 and "
            "parsing their numbers.",
            (Figure("100,000 outputs", r"none counted: report ([\d.]+) s", 1.5, "s"),
             Figure("in times of reading the rows", r"none counted: .*: ([\d.]+) times", ratio=True, times=True))),
    Section("replay", "`byref replay`", MONEY,
            "How fast recordings go through `byref replay` with two processes and without models, and in how much memory: sessions of "
            "agents (outputs of a kilobyte) and of logs (some 30), real ones again and again under other names. Beside it in the same run: "
            "reading the same JSON and counting the tokens of its outputs, and nothing else.",
            (Figure("agents' sessions, two free processors", r"^  agents, MB/s .* a processor, ([\d.]+) on", 8, "MB/s", more=True),
             Figure("sessions of logs, two free processors", r"^  logs, MB/s .* a processor, ([\d.]+) on", 8, "MB/s", more=True),
             Figure("agents' sessions, in times of JSON and tokens alone", r"^  agents, processor time .* s: ([\d.]+) times", ratio=True,
                    times=True)),
            commands=("--size 100",), full=("--size 1000",)),
)
# What stands in this folder and is no part of `make bench`.
OTHERS = {"run": "runs the others", "sections": "this list", "document": "the page", "beside": "a plot",
          "inputs": "made outputs", "library": "an arm",
          "samples": "part of corpus.py", "signs": "part of corpus.py", "labelled": "questions", "wrap_peers": "part of wrap.py",
          "models": "`make models`", "corpus": "`make tables`, into docs/figures.md", "gallery": "`make gallery`, into docs/views.md",
          "fit": "`make fit`, which writes weights", "scored": "an experiment; docs/search.md has its outcome"}
BY_NAME = {section.name: section for section in SECTIONS}
