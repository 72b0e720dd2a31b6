# Everything here needs Python 3.11 or newer, git and make; the rest is set up in .venv by itself.
# Another Python: make test PYTHON=/path/to/python3

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

PYTHON ?=
# One more than two cores: many tests wait for processes, and who is done early takes over from the others.
WORKERS ?= 3
VERSIONS ?= 3.11 3.12 3.13 3.14
BIN := .venv/bin
APP := .venv/.app
READY := .venv/.ready
LOUD_PIP := $(BIN)/python -m pip --disable-pip-version-check install --constraint constraints.txt
PIP := $(LOUD_PIP) --quiet
# The package at hand, in one line that is drawn over.
PROGRESS := /^Collecting/ { printf "\r  %2d: %-50.50s", ++count, $$2; fflush() } \
    /^Installing/ { printf "\r  %2d packages: %-40s", count, "unpacking"; fflush() } END { print "" }
# On all cores at once, which pip does not; some packages bring files that are wrong on purpose, or that nobody imports.
COMPILE := $(BIN)/python -m compileall -q -j 0 \
    -x '/site-packages/(mypy|mypyc|pip|pkg_resources|setuptools|pygments/lexers)/' .venv/lib >/dev/null || true
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
# Where that pip lies: a system that has the wheels of all its Pythons in one place has told them so.
BUNDLED := import ensurepip, glob, os, sysconfig; \
    place = sysconfig.get_config_var("WHEEL_PKG_DIR") or os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"); \
    print(glob.glob(os.path.join(place, "pip-*.whl"))[0])

# The tests make hundreds of small repositories: in memory, where there is room for them (KB) and programs may be run,
# that costs less.
IN_MEMORY := $(shell grep ' /dev/shm ' /proc/mounts 2>/dev/null | grep -qv noexec && \
    df -Pk /dev/shm | awk 'NR == 2 && $$4 > 2000000 { print "/dev/shm" }')

# Nearly all of the tests' processes are Python: without compiled modules each of them costs twice as much.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test agents browser nats check format format-check lint types contracts bench compare torture lowest pythons mutants screenshots docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv and install what is needed (every target does it by itself)

# The stamp is newer than what it was made from, so nothing is installed twice; the hook forwarder is installed as a copy.
# A venv whose Python has gone is made anew, and the pip that Python brings along used in place to install a newer one.
# What builds us comes before us: an environment of its own for that would take as long as all else.
$(APP): pyproject.toml constraints.txt hatch_build.py core/unstuck/agents/forwarder.py
	@echo 'Installing Unstuck into .venv (once, about 30 seconds) …'; \
	if ! $(BIN)/python -c 'import pip; $(RECENT)' 2>/dev/null; then \
	    found=; \
	    for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
	        if "$$python" -c '$(RECENT)' 2>/dev/null; then found=$$python; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo 'Python 3.11 or newer was not found: install it, or name it: make PYTHON=/path/to/python3' >&2; exit 1; \
	    fi; \
	    "$$found" -m venv --clear --without-pip .venv && bundled=$$("$$found" -c '$(BUNDLED)' 2>/dev/null) || { \
	        echo "$$found cannot make a virtual environment: install its venv module (python3-venv)" >&2; exit 1; }; \
	fi; \
	PYTHONPATH="$$bundled" $(PIP) --no-compile --upgrade pip hatchling editables
	@{ $(LOUD_PIP) --no-compile --no-build-isolation --editable .; echo $$? > .venv/.status; } | awk '$(PROGRESS)'; \
	exit $$(cat .venv/.status)
	@touch $@

$(READY): $(APP)
	@$(PIP) --no-compile --group dev
	@$(COMPILE)
	@touch $@

# Whoever only wants to see it need not wait for what its tests and its checks need.
demo: $(APP) ## see it at work: scripted agents, a real repository, real failures (make demo ARGS="--speed 2")
	@$(BIN)/unstuck demo $(ARGS); code=$$?; \
	echo; echo 'Here unstuck is $(CURDIR)/$(BIN)/unstuck. To call it by its name in this shell:'; \
	echo '  export PATH="$(CURDIR)/$(BIN):$$PATH"'; \
	case $$code in 0|1|3|130) ;; *) exit $$code ;; esac  # skipped tasks or open questions are no error of make

test: export TMPDIR := $(or $(IN_MEMORY),$(TMPDIR),/tmp)
test: $(READY) ## run the tests and show the ten slowest
	@echo '== tests'
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# On the disk: Codex runs commands where it does not see programs in /dev.
agents: $(READY) ## real agents against a scripted model; installs them (UNSTUCK_AGENTS_DIR=DIR keeps them between runs)
	$(BIN)/python -m pytest -n 0 -m agents --timeout 900 tests/real_agents $(ARGS)

browser: $(READY) ## the page in a real Chromium, with axe from npm (UNSTUCK_BROWSER=PATH names another browser)
	@$(PIP) --no-compile --group browser
	$(BIN)/python -m pytest -n 0 -m browser --timeout 900 tests/browser $(ARGS)

nats: $(READY) ## a fleet over a real NATS server, with kills, cut links and wiped disks; takes minutes
	$(BIN)/python -m pytest -n 0 -m nats --timeout 900 tests/nats tests/shared_plan $(ARGS)

check: format-check lint types contracts test ## everything that has to hold before a change goes in

format: $(READY) ## format the code and sort its imports
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

format-check: $(READY) ## is everything formatted?
	@echo '== format'
	$(BIN)/ruff format --check .

lint: $(READY) ## ruff's rules
	@echo '== lint'
	$(BIN)/ruff check .

types: $(READY) ## mypy, strict
	@echo '== types'
	MYPY_NUM_WORKERS=2 $(BIN)/mypy

contracts: $(READY) ## which part may import which
	@echo '== import contracts'
	$(BIN)/lint-imports

bench: $(READY) ## measure what the budgets speak of (make bench ARGS=diagnosis for one)
	@$(PIP) --group bench
	$(BIN)/python -m tests.bench $(ARGS)

compare: $(READY) ## scripted agents that fix one thing per attempt, with the real tools there are (ARGS="--record")
	$(BIN)/python -m tests.compare $(ARGS)

torture: $(READY) ## faults against real runs, for five minutes (ARGS="--minutes 60", ARGS="--only kills --seed 7")
	$(BIN)/python -m tests.torture $(ARGS)

lowest: $(READY) ## install the lowest versions that pyproject.toml allows, run a demo with them, and draw its screen
	$(BIN)/python -m tests.lowest

# Environments of their own, so that .venv stays. A version that is not installed is named and left out.
pythons: ## the tests of the library with every Python there is (VERSIONS="3.14", ARGS=tests/supervision)
	@tried=; for version in $(VERSIONS); do \
	    if ! python$$version -c '' 2>/dev/null; then echo "python$$version is not installed: left out"; continue; fi; \
	    place=build/pythons/$$version; tried=$$version; echo "== Python $$version"; \
	    python$$version -m venv $$place && $$place/bin/python -m pip --quiet install --upgrade pip && \
	    $$place/bin/python -m pip --quiet install --constraint constraints.txt --editable . --group dev hatchling && \
	    PATH="$(CURDIR)/$$place/bin:$$PATH" $$place/bin/python -m pytest -n $(WORKERS) --dist worksteal \
	        $(or $(ARGS),tests/library tests/seeds) || exit 1; \
	done; test -n "$$tried"

mutants: $(READY) ## one-operator changes in a copy: which do the tests notice? (ARGS="eventlog --number 25 --seed 7")
	@$(PIP) --no-compile --group mutants
	$(BIN)/python -m tests.mutants $(ARGS)

screenshots: $(READY) ## take a picture of every screen from real runs, into screenshots/
	$(BIN)/python -m tests.screenshots

docs: $(APP) ## build the documentation site into build/site; its packages are installed for this target only
	@$(PIP) --no-compile --group docs
	$(BIN)/python -m docs.generator build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'Read it, with its search: python3 -m http.server --bind 127.0.0.1 --directory build/site'

clean: ## remove .venv and every cache
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
