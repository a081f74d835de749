#!/usr/bin/env bash
# Runs the campaign of reliability: bash scripts/run_reliability.sh [MINUTES] [SEED]
# It needs an environment that scripts/set_up.sh has made and entered.
set -eu
cd "$(dirname "$0")/.."
exec python scripts/reliability/campaign.py --minutes "${1:-60}" --seed "${2:-0}"
