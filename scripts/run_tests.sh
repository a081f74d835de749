#!/usr/bin/env bash
# Sets everything up and passes lint, format, types and tests: bash scripts/run_tests.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
ruff check .
ruff format --check .
mypy
python -m pytest
python -m pytest -m slow
