#!/usr/bin/env bash
# Sets everything up, runs the notebooks and builds the site, build/site/index.html: bash scripts/build_docs.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
# Each notebook in a kernel of its own; the site shows what they showed when they were written.
OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" python scripts/documentation/run_notebooks.py
export NO_MKDOCS_2_WARNING=1
mkdocs build --strict
