#!/usr/bin/env bash
# Sets everything up and passes lint, format, types and tests: bash scripts/run_tests.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
# The tests' tensors are tiny: on a machine with other work a second thread makes them ten times slower.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
ruff check .
ruff format --check .
mypy
python -m pytest
python -m pytest -m slow
