#!/usr/bin/env bash
# Lint, types, import contracts, schema drift: all of them, then the exit code.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()
step() {
    local name=$1
    shift
    printf -- '--- %s\n' "$name"
    "$@" || failed+=("$name")
}
step lint .venv/bin/ruff check .
step format .venv/bin/ruff format --check .
step types .venv/bin/mypy
step 'calls of tests' .venv/bin/mypy --config-file infra/mypy-tests.ini tests infra
step imports .venv/bin/lint-imports
step schemas .venv/bin/python -m tasks_lib.records.schemas --check
step reference .venv/bin/python -m tasks_lib.evaluation.reference --check
step tasks .venv/bin/matassay lint
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[*]}" >&2
    exit 1
fi
