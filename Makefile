# make demo    install into .venv, make a small text file, and tokenize it to the end
# make test    install what the tests need, and run those that take no more than a moment each (some minutes), or TESTS
# make test-versions  run make test with Python 3.12 and 3.13, and say which of them is not installed
# make test-all  run every test, those with real hogs, kills and long texts too (10 to 20 minutes; some need root)
# make test-failed  run again, one at a time, what failed in the last run of tests
# make test-portable  test with psutil alone and every Linux-only call refused, as macOS would run it (minutes)
# make test-cluster  kill nodes, workers, drivers and the store at 50 random moments under runs on Ray (10 to 30 minutes)
# make test-vm  boot a Debian guest and test there what needs systemd and cgroup v2 (minutes; the first time as root)
# make test-vm-short  the most important of it (CI runs this)
# make vm-guest  make that guest, if there is none yet, without booting it
# make test-busy  run all tests TURNS times beside stress-ng --cpu 4 (an hour; BUSY_TESTS names some only)
# make faults  harm tokenize runs in every way, TIMES times each, and compare what they make (about TIMES minutes)
# make soak    guard tokenize runs for MINUTES minutes, and disturb them
# make coverage  run the quick tests, or TESTS, and list the lines and branches that no test reaches
# make lint    ruff, mypy, and the walls between rooms (import-linter)
# make screenshots   make the pictures in screenshots/ from scripted runs
# make benign  run a hundred healthy jobs under memwatch in cages of 1, 3 and 8 GiB, and report any harm (30 minutes; root)
# make curves  run them bare, and record what they take in tests/benign/curves.txt.xz (25 minutes; root, a quiet machine)
# make bench   measure memwatch against what people use instead (45 minutes, 30 of them for the healthy jobs; Debian, for
#              the text; root, for the guard)
# make azurite  fetch the emulator of Azure's store that tests use into .azurite/ (test-all and test-cluster do so; npm)
# make vocabularies  fetch the real vocabularies that tests use into .vocabularies/ (they do so by themselves; 110 MB)
# make clean   remove what the others made

PYTHON ?= python3
# Another Python has an environment of its own: `make test PYTHON=python3.13` uses .venv-python3.13.
VENV := $(if $(filter python3,$(PYTHON)),.venv,.venv-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# The tests start thousands of processes of memwatch. Where this is set, as in many containers, each compiles its modules.
export PYTHONDONTWRITEBYTECODE :=

TESTS ?=
# The longest test takes some minutes beside other work. What hangs longer fails, and the others still run.
PYTEST := $(BIN)/python -m pytest --timeout 900

.PHONY: azurite coverage demo test test-versions test-all test-failed test-busy test-portable test-cluster test-vm test-vm-short vm-guest faults soak lint \
  benign curves bench screenshots vocabularies clean

demo: $(VENV)/installed
	@echo "== making demo/text.txt from Python's own documentation and library"
	@$(BIN)/python recipes/make_text.py demo/text.txt --mib 20
	@echo "== memwatch run tokenize demo/text.txt --force"
	@$(BIN)/memwatch run tokenize demo/text.txt --force
	@echo "== memwatch verify demo --input demo/text.txt"
	@$(BIN)/memwatch verify demo --input demo/text.txt

test: $(VENV)/installed-dev
	@echo "== running the tests (some minutes)"
	@$(PYTEST) --numprocesses 2 --dist loadfile $(TESTS)

# pyenv's python3.13 runs only where its version is chosen, so ask pyenv where it is.
test-versions:
	@for version in 3.12 3.13; do \
	  found=python$$version; \
	  $$found --version >/dev/null 2>&1 || \
	    found=$$(pyenv prefix "$$(pyenv versions --bare | grep "^$$version\." | tail -n 1)" 2>/dev/null)/bin/python$$version; \
	  if $$found --version >/dev/null 2>&1; then $(MAKE) test PYTHON=$$found || exit 1; \
	  else echo "== python$$version does not run here; not tested with it"; fi; done

test-all: $(VENV)/installed-dev azurite
	@echo "== running all tests (10 to 20 minutes)"
	@$(PYTEST) --all --numprocesses 2 --dist loadfile

test-failed: $(VENV)/installed-dev
	@$(PYTEST) --all --last-failed --last-failed-no-failures none

PORTABLE := tests/guard/test_wrapper.py tests/cli/test_plain.py tests/cli/test_runs.py tests/cli/test_attach.py \
  tests/test_job.py tests/tokenize/test_end_to_end.py

test-portable: $(VENV)/installed-dev
	@$(BIN)/python -m pytest tests/portable
	@MEMWATCH_PROBE=portable $(BIN)/python -m pytest $(PORTABLE)

test-cluster: $(VENV)/installed-dev azurite
	@echo "== testing runs on many machines (10 to 30 minutes)"
	@$(BIN)/python -m pytest --all --cluster-kills 50 tests/cluster tests/storage

# The emulator of Azure's store, for the tests of az:// addresses; without npm they are skipped, and say so.
AZURITE := azurite@3.35.0

azurite: .azurite/$(AZURITE)

.azurite/$(AZURITE):
	@if command -v npm >/dev/null; then echo "== installing Azurite"; mkdir -p .azurite; \
	  npm install --prefix .azurite --silent --no-audit --no-fund --ignore-scripts $(AZURITE) && touch $@ || \
	    echo "cannot install Azurite; the tests of az:// are skipped" >&2; \
	else echo "== npm is not installed; the tests of az:// are skipped"; fi

# Tests of cost and memory fail beside the measuring; what is reached counts all the same.
coverage: $(VENV)/installed-dev
	@$(BIN)/coverage erase
	@-$(BIN)/coverage run -m pytest -q $(TESTS)
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage report

test-vm: vm-guest
	@echo "== testing in the guest (some minutes; it is emulated)"
	@$(BIN)/python -m pytest --vm -s tests/vm

test-vm-short: vm-guest
	@echo "== testing in the guest (5 minutes; it is emulated)"
	@$(BIN)/python -m pytest --vm -s tests/vm -k short

vm-guest: $(VENV)/installed-dev
	@{ command -v mmdebstrap && command -v mke2fs && command -v qemu-system-x86_64; } >/dev/null || \
	  { echo "== installing mmdebstrap and qemu"; apt-get update --quiet; \
	    apt-get install --yes --quiet --no-install-recommends mmdebstrap e2fsprogs qemu-system-x86; }
	@$(BIN)/python -m tests.vm.guest

TURNS ?= 3
BUSY_TESTS ?= --all --numprocesses 2 --dist loadfile

test-busy: $(VENV)/installed-dev
	@command -v stress-ng >/dev/null || \
	  { echo "== installing stress-ng"; apt-get update --quiet; \
	    apt-get install --yes --quiet --no-install-recommends stress-ng; }
	@stress-ng --cpu 4 --quiet & load=$$!; trap 'kill $$load' EXIT; \
	  for turn in $$(seq $(TURNS)); do \
	    echo "== turn $$turn of $(TURNS) beside stress-ng --cpu 4"; $(PYTEST) $(BUSY_TESTS) || exit 1; \
	  done

TIMES ?= 20
MINUTES ?= 20

faults: $(VENV)/installed-dev demo/faults.txt
	@$(BIN)/python -m tests.faults.campaign demo/faults.txt --times $(TIMES)

soak: $(VENV)/installed-dev demo/faults.txt
	@$(BIN)/python -m tests.faults.soak demo/faults.txt --minutes $(MINUTES) --folder demo/soak

demo/faults.txt: | $(VENV)/installed-dev
	@$(BIN)/python recipes/make_text.py $@ --mib 5

lint: $(VENV)/installed-dev
	@echo "== ruff, mypy and import-linter"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

benign: $(VENV)/installed-bench
	@$(BIN)/python -m tests.benign.run $(BENIGN_OPTIONS)

curves: $(VENV)/installed-bench
	@$(BIN)/python -m tests.benign.record $(BENIGN_OPTIONS)

BENIGN_OPTIONS ?=
CORPUS ?= tests/benchmarks/corpus.txt
BENCH_OPTIONS ?=

bench: $(VENV)/installed-bench $(CORPUS)
	@echo "== measuring (about 45 minutes on 2 quiet cores)"
	@$(BIN)/python -m tests.benchmarks.bench $(CORPUS) $(BENCH_OPTIONS)

tests/benchmarks/corpus.txt: | $(VENV)/installed-dev
	@echo "== making real text to measure with (downloads about 130 MB of documentation packages)"
	@$(BIN)/python tests/benchmarks/corpus.py $@

vocabularies: $(VENV)/installed-dev
	@$(BIN)/python -m tests.vocabularies

screenshots: $(VENV)/installed-dev
	@$(BIN)/python -m screenshots.make

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memwatch needs Python 3.11 or newer; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "== making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/installed: $(VENV)/python pyproject.toml constraints.txt
	@echo "== installing memwatch"
	@$(PIP) --editable '.[offline]' || { echo "cannot install memwatch's packages; is the package index reachable?" >&2; exit 1; }
	@touch $@

$(VENV)/installed-dev: $(VENV)/python pyproject.toml constraints.txt
	@echo "== installing memwatch and what its tests need"
	@$(PIP) --editable '.[dev]' || { echo "cannot install what the tests need; is the package index reachable?" >&2; exit 1; }
	@touch $@ $(VENV)/installed

$(VENV)/installed-bench: $(VENV)/installed-dev
	@echo "== installing what memwatch is compared with"
	@$(PIP) --editable '.[bench]' || echo "cannot install all of it; the report says what is missing" >&2
	@touch $@

clean:
	rm -rf .venv .venv-* .vocabularies .azurite demo tests/benchmarks/corpus.txt tests/benchmarks/corpus.tokens .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage .coverage.*
	find . -name __pycache__ -prune -exec rm -rf {} +
