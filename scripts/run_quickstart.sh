#!/usr/bin/env bash
# Sets everything up and runs the whole pipeline on the built-in sample: bash scripts/run_quickstart.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
hf-paraphrase quickstart --output "${1:-quickstart}" --resume
# The environment ends with this script; the shell that called it does not know the commands yet.
printf 'source %q\n' "$(cd "$VENV" && pwd)/bin/activate"
