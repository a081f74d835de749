#!/usr/bin/env bash
# Sets everything up, runs the notebooks and builds the site, build/site/index.html: bash scripts/build_docs.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
export NO_MKDOCS_2_WARNING=1
mkdocs build --strict
