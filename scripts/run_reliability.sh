#!/usr/bin/env bash
# Runs the campaign of reliability: bash scripts/run_reliability.sh [MINUTES of each of the six programs] [SEED]
# It needs an environment that scripts/set_up.sh has made and entered.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=0
for program in fuzz kill full_disk two_at_once parts signals; do
  python "scripts/reliability/$program.py" --work "$work" --minutes "${1:-60}" --seed "${2:-0}" || found=1
done
exit $found
