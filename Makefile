# make table   set up the core (no torch) and print predicted against observed
# make test    set up everything and run the whole suite
# make quick   the core's doctests, the reference runs and the rules of the house: under a minute
# make docs    build the documentation, and lay out every page at three widths
# make wheel   build a wheel and a source archive, and try each in an empty environment
# make test-full  everything, with more examples (up to 90 minutes); SEED=7 for other examples
# make evidence  run every study in full, and say which recorded verdicts moved (hours)
# make bench   measure, with baselines beside
# make mutation  change the code in small ways and count what the suite notices (hours)
# Each sets up what it needs, in .venv; a second call starts at once.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SETUP := pyproject.toml constraints.txt

# Tests start hundreds of processes, each of which would read the whole source again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: table test quick test-full browser checks lint types layers docs wheel evidence bench accuracy margins mutation clean

table: $(VENV)/core.stamp
	@$(BIN)/swingby table --paper

test: browser $(VENV)/all.stamp checks
	$(BIN)/python -m pytest -n auto --dist worksteal

quick: $(VENV)/all.stamp
	$(BIN)/python -m pytest -q -n auto swingby/theory swingby/simulate swingby/verify swingby/report \
	  tests/simulate/test_golden.py tests/test_house.py

test-full: browser $(VENV)/all.stamp checks wheel
	@command -v pdflatex >/dev/null || { [ "$$(id -u)" != 0 ] || { apt-get update -qq && apt-get install \
	  -y -qq --no-install-recommends texlive-latex-recommended texlive-science; }; }
	$(if $(SEED),SWINGBY_HYPOTHESIS_SEED=$(SEED)) SWINGBY_HYPOTHESIS_PROFILE=full \
	  $(BIN)/python -m pytest -n auto --dist worksteal $(if $(SEED),--hypothesis-seed=$(SEED))
	$(BIN)/nox -s minimum newest-3.13

# The browser that the explorer is tested in; install it where we may, else say so.
# SWINGBY_WITHOUT_BROWSER=1 skips these tests, which pytest counts.
CHROMIUM := apt-get install -y --no-install-recommends chromium fonts-liberation
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || [ -n "$$SWINGBY_WITHOUT_BROWSER" ] || { \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(CHROMIUM) -qq >/dev/null; \
	  else false; fi; } || { echo "no Chromium: $(CHROMIUM)" >&2; exit 1; }

# What needs one core at a time, two at once; the tests would compile the same on every core.
checks: $(VENV)/all.stamp
	@$(BIN)/python -m compileall -q -j 2 swingby studies tests docs benchmarks
	@$(MAKE) --no-print-directory --jobs=2 \
	  $(VENV)/laws.compiled $(VENV)/runs.compiled $(VENV)/batches.compiled lint types layers

$(VENV)/%.compiled: tests/compiled.py $(shell find swingby -name '*.py') | $(VENV)/all.stamp
	@$(BIN)/python tests/compiled.py $*
	@touch $@

lint: $(VENV)/all.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/all.stamp
	$(BIN)/mypy

layers: $(VENV)/all.stamp
	$(BIN)/lint-imports

docs: browser $(VENV)/all.stamp
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@$(BIN)/python -m docs.check_pages docs/_build/html
	@echo "the pages begin at docs/_build/html/index.html"

wheel: $(VENV)/all.stamp
	@$(PIP) install "hatchling>=1.27"
	rm -rf dist && $(BIN)/python -m hatchling build
	@for one in dist/*; do \
	  $(PYTHON) -m venv --clear dist/empty && \
	  dist/empty/bin/pip --disable-pip-version-check --quiet install -c constraints.txt "$$one" && \
	  (cd dist/empty && bin/swingby table --signal 4,1 --eta 0.01 --w0 "2e-3,1e-3;1e-3,2e-3" && \
	   bin/swingby audit --item D.27) >dist/tried.txt || exit 1; \
	  echo "$$one works in an empty environment"; \
	done; rm -rf dist/empty dist/tried.txt

evidence: $(VENV)/all.stamp
	$(BIN)/python -m studies all

bench: $(VENV)/core.stamp
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.prediction
	$(BIN)/python -m benchmarks.descents
	@$(PIP) install -c constraints.txt -e ".[torch]"
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m studies tables
	$(BIN)/python -m benchmarks.recorded_runs
	$(BIN)/python -m benchmarks.vectors
	$(BIN)/python -m benchmarks.diffusion

accuracy: $(VENV)/core.stamp
	$(BIN)/python -m benchmarks.accuracy

margins: $(VENV)/core.stamp
	$(BIN)/python -m benchmarks.margins

mutation: $(VENV)/all.stamp
	@$(PIP) install -c constraints.txt -e ".[mutation]"
	$(BIN)/python -m benchmarks.mutation map
	$(BIN)/python -m benchmarks.mutation score

# Debian splits ensurepip off into python3-venv; install it where we may, else say so.
$(VENV)/bin/python:
	@$(PYTHON) -c "import ensurepip" 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq python3-venv; \
	  else echo "Python has no ensurepip: apt-get install python3-venv" >&2; exit 1; fi; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: $(SETUP) | $(VENV)/bin/python
	@echo "setting up the core in $(VENV) (about a minute the first time)"
	@$(PIP) install -c constraints.txt -e . 2>$(VENV)/setup.log || { cat $(VENV)/setup.log >&2; exit 1; }
	@touch $@

$(VENV)/all.stamp: $(SETUP) | $(VENV)/bin/python
	@echo "setting up everything in $(VENV) (a few minutes the first time)"
	@# pip makes bytecode with one core, which is half of its time.
	@$(PIP) install --no-compile -c constraints.txt -e ".[all]" 2>$(VENV)/setup.log || { cat $(VENV)/setup.log >&2; exit 1; }
	@$(BIN)/python -W ignore -m compileall -qq -j 2 $(VENV)/lib || true
	@touch $@ $(VENV)/core.stamp

clean:
	rm -rf $(VENV) dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
