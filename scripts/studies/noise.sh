#!/usr/bin/env bash
# 70 minutes of processor time. Paper 003 (Sjöblom, Creutz and Aulamo 2018) in English, on tweets (designs/noise.yaml).
# Candidates are pairs of tweets on one news link, that people labelled as paraphrases or not, so the share of false ones
# is known; encoders are tested on PIT-2015's dev set, tweets too.
# Usage: bash scripts/studies/noise.sh DATA WORK
#   DATA  holds twitter_url/ and ppdb/ to learn from, pit2015/ msrp/ sick/ sts/, of which nothing may be learned, and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made, once; WORK/tables has the outcome
# From the environment: MOST_SEEDS, a limit for a first look (the design has ten of WA and five of GRAN).
. "$(dirname "$0")/common.sh"
avoid+=("$DATA/msrp")

# 1. The candidates, the judged pairs, PPDB's judged phrases and words, and morphs and words of the candidates' text.
done_already "$WORK/tweets" || hf-paraphrase prepare pairs --tsv "$DATA/twitter_url/train.tsv.gz" \
  --columns label,sentence1,sentence2 "${avoid[@]}" --output "$WORK/tweets"
done_already "$WORK/judged" || hf-paraphrase prepare pit2015 --data-dir "$DATA/pit2015" --output "$WORK/judged"
done_already "$WORK/ppdb" || { make_data phrases --data "$DATA" --held-out "$WORK/ppdb_held_out.tsv" --most 100000 \
  --output "$WORK/ppdb.tsv" && hf-paraphrase prepare pairs --tsv "$WORK/ppdb.tsv" "${avoid[@]}" --output "$WORK/ppdb"; }
done_already "$WORK/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --pairs "$WORK/tweets" \
  --output "$WORK/morphs"
done_already "$WORK/words" || hf-paraphrase train-tokenizer --kind word --vocabulary-size 0 --min-frequency 1 \
  --pairs "$WORK/tweets" --output "$WORK/words"

# 2. Mixtures of right and wrong candidates, and how many tokens 3,000 pairs have with their negatives.
mkdir -p "$WORK/mixtures"
for seed in 0 1 2 3 4 5 6 7 8 9; do
  for mixture in "3000 0" "2400 600" "1800 1200" "7200 4800"; do
    read -r right wrong <<<"$mixture"
    at="$WORK/mixtures/${right}_${wrong}_$seed"
    done_already "$at" || make_data mixture --pairs "$WORK/tweets" --right "$right" --wrong "$wrong" --seed "$seed" \
      --output "$at"
  done
done
done_already "$WORK/like" || hf-paraphrase filter --pairs "$WORK/mixtures/3000_0_0" --negatives 0 --output "$WORK/like"
TOKENS=$(python -c "import json; print(json.load(open('$WORK/like/provenance.json'))['results']['tokens'])")
export TOKENS

# 3. The encoders, what each says of the judged pairs, and the tables.
study noise "$WORK/tables"
