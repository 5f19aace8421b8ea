# make demo: see an agent learn words. make test: everything CI checks. make docs: the site, in build/site.
# Each makes .venv by itself.
PYTHON ?= python3
EXTRAS ?= dev
BIN := .venv/bin
comma := ,
STAMP := .venv/.ready-$(subst $(comma),-,$(EXTRAS))

.PHONY: demo test docs lint format clean

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@

demo: $(STAMP)
	$(BIN)/daxlab demo

test: $(STAMP) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 20

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the site is build/site/index.html"

lint: $(STAMP)
	$(BIN)/ruff check daxlab tests
	$(BIN)/ruff format --check daxlab tests
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix daxlab tests
	$(BIN)/ruff format daxlab tests

clean:
	rm -rf .venv build out .pytest_cache .mypy_cache .ruff_cache .hypothesis
