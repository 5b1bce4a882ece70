# Two commands matter: `make run` and `make test`. Each does all its own set-up; neither needs the other.
SHELL := /bin/bash
ARGS ?=

.PHONY: run test prove check schemas small-model test-encoder bench clean help

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: ## set up what is missing and run the benchmark `smoke`
	@bash infra/setup.sh run
	@.venv/bin/matassay run smoke $(ARGS)

test: ## set up what is missing and run the tests
	@bash infra/setup.sh test
	@bash infra/test.sh $(ARGS)

prove: ## prove every task in the real environment
	@bash infra/setup.sh run
	@.venv/bin/matassay prove $(ARGS)

check: ## lint, types, import contracts, schema drift
	@bash infra/setup.sh test
	@bash infra/check.sh

schemas: ## write docs/schemas/ and docs/getters-and-metrics.md anew
	@bash infra/setup.sh test
	@.venv/bin/python -m tasks_lib.records.schemas
	@.venv/bin/python -m tasks_lib.evaluation.reference

small-model: ## play a code task and a GUI task with a small real model on loopback (docs/models.md)
	@bash infra/setup.sh run
	@.venv/bin/python -m infra.small_model $(ARGS)

test-encoder: ## test trajectory scores with the real sentence encoder (docs/trajectory-scores.md)
	@bash infra/setup.sh test
	@.venv/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0
	@.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[m3]'
	@.venv/bin/python -m pytest -q tests/tasks_lib/evaluation/alignment tests/tasks_lib/cli/test_cli_trajectory_scores.py $(ARGS)

bench: ## measure overheads (docs/performance.md)
	@bash infra/setup.sh test
	@for bench in tests/benches/bench_*.py; do echo "--- $$bench"; .venv/bin/python $$bench || exit 1; done

clean: ## remove the virtual environment and the local state, keep the runs in artifacts/
	rm -rf .venv .state
