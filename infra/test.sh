#!/usr/bin/env bash
# Run the tests; traffic stays on loopback and nothing is fetched from a hub.
set -euo pipefail
cd "$(dirname "$0")/.."
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 DO_NOT_TRACK=1 PREFECT_SERVER_ANALYTICS_ENABLED=false
export PYTHONHASHSEED=0
exec .venv/bin/python -m pytest tests --ignore=tests/benches -n "${TEST_WORKERS:-2}" --dist loadfile "$@"
