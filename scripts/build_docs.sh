#!/usr/bin/env bash
# Sets everything up, runs the notebooks and builds the site, build/site/index.html: bash scripts/build_docs.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/set_up.sh
python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
# Each notebook in a kernel and a folder of its own; the site shows what they showed when they were written.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" PYTHONPATH="$PWD"
for notebook in docs/notebooks/*.ipynb; do
  folder=$(mktemp -d)
  cp "$notebook" "$folder"
  HF_DATASETS_CACHE="$folder/cache" jupyter-execute --timeout=600 "$folder/${notebook##*/}"
  rm -r "$folder"
done
export NO_MKDOCS_2_WARNING=1
mkdocs build --strict
