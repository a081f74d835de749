#!/usr/bin/env bash
# Five hours of processor time for the three languages, half of it by the clock on two cores. Which back-translations make
# good training pairs (paper 000, sections 5.4 to 5.7, tables 5 to 7 and 9 to 12)? For each language all captions, Tatoeba
# sentences and paragraphs of help are translated back by a small model; of the pool a draw takes a fifth at most, so that
# draws differ and filters have something to choose from. Draws with one seed share what their
# filters allow and are compared seed by seed. Three filters go by cost: per token (`cost`, the end of the sentence
# counted as no token), with the end as a token (`cost_with_end`), and among translations of one length
# (`cost_in_length`), because the first goes with length. Existing outputs are reused.
# Usage: bash scripts/studies/filters.sh DATA WORK
#   DATA  holds multi30k/ manythings/ libreoffice_help/ sts/ sick/ stsbenchmark/ pit2015/ text/ and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder of this study's own for everything that is made; WORK/avg, WORK/gran, WORK/bins_avg,
#         WORK/bins_gran and WORK/LANGUAGE/report have the tables, WORK/LANGUAGE/examples pairs, WORK/filters.png the gains, means over the languages
# From the environment: LANGUAGES (default "fr de cs"); SENTENCES, how many of each part are translated back (default: all);
# SIZE of the translation model (default small, see translation.sh); AVG_SEEDS, GRAN_SEEDS (default ten and five);
# GLOVE, word vectors (default: those of designs/glove.yaml).
. "$(dirname "$0")/common.sh"
languages=${LANGUAGES:-fr de cs} documents="$WORK/documents.txt"
# Small models gain little by a second core: languages and encoders are worked on at the same time.
export OMP_NUM_THREADS=1
trap wait EXIT
# References that the classifier and the language model each learn from; of Czech there are 64,701 sentences only.
declare -A held_out=([fr]=20000 [de]=20000 [cs]=8000)

make_pool() { # language
  local at="$WORK/$1" references=${held_out[$1]}

  # 1. A translation model, and the best five translations of every sentence.
  LANGUAGES="$1" MODELS=mixed SIZE="${SIZE:-small}" SENTENCES="${SENTENCES:-1000000}" BEAM=5 \
    bash "$here/translation.sh" "$DATA" "$WORK"

  # 2. The pool: the best translation of each reference that neither the classifier nor the language model has seen, with
  # all measures.
  done_already "$at/classifier" || hf-paraphrase train-classifier --pairs "$at/back" --train-size "$references" \
    --dev-size $((references / 8)) --test-size $((references / 8)) --initial-vectors "$GLOVE" \
    --output "$at/classifier" --resume
  done_already "$at/scored" || hf-paraphrase score --pairs "$at/back" --classifier "$at/classifier" \
    --hold-out "$references" --output "$at/scored" --resume
  done_already "$at/kept" || hf-paraphrase filter --pairs "$at/scored" --keep classifier_seen==0 --drop-identical \
    --one-per-reference best --output "$at/kept"
  done_already "$at/pool" || make_data costs --pairs "$at/kept" --output "$at/pool"

  # 3. Tables 9 to 11, with document frequencies of other text, and eight pairs with their measures (table 1).
  done_already "$at/report" || hf-paraphrase analyze --pairs "$at/scored" --classifier "$at/classifier" --unseen-only \
    --idf-text "$documents" --examples 20 --output "$at/report"
  done_already "$at/examples" || hf-paraphrase filter --pairs "$at/pool" --sample 8 --output "$at/examples"
}

fetch_glove
[ -e "$documents" ] || { gzip -cd "$DATA"/text/*.txt.gz >"$documents.part" && mv "$documents.part" "$documents"; }
started=() pools=()
for language in $languages; do
  make_pool "$language" &
  started+=($!) pools+=("$language=$WORK/$language/pool")
done
for process in "${started[@]}"; do wait "$process"; done

# 4. The grids: one seed chooses each filter's range of each language on STS 2016; what is chosen and random pairs have
# all seeds. They continue until the best is inside, or too few pairs are left for a draw; their loose end is no filter.
ranges=(--keep "length<="{7,10,15,20,30} "cost<="{0.6,0.8,1,1.2} "cost_with_end<="{0.5,0.7,0.9,1.1}
  "cost_in_length<="{0.1,0.25,0.5,0.75,0.9} "perplexity<="{20,40,75,150,300} "reference_probability>="{0.1,0.2,0.4,0.6}
  "overlap_1<="{0.6,0.7,0.8,0.9} "overlap_2<="{0.1,0.2,0.3,0.4,0.6,0.8} "overlap_3<="{0,0.1,0.2,0.4,0.6,0.8}
  "bleu<="{0.2,0.3,0.4,0.6,0.8})
tune "$WORK/avg" "$avg_seeds" 8000 --pairs "${pools[@]}" --epochs 20 "${ranges[@]}" &
averages=$!
tune "$WORK/gran" "$gran_seeds" 8000 --pairs "${pools[@]}" --encoders gran --epochs 3 "${ranges[@]}"
wait "$averages"

# 5. Table 5: bins of length with equally many pairs each, all with all seeds.
bins() { # encoder, seeds
  tune "$WORK/bins_$1" "$2" 2000 --pairs "${pools[@]}" --encoders "$1" --epochs 20 --filters length_bins \
    --grid-seeds "$(wc -w <<< "$2")"
}
bins avg "$avg_seeds" &
averages=$!
bins gran "$gran_seeds"
wait "$averages"
python "$here/study_tables.py" --tables "$WORK/avg/table.md" "$WORK/gran/table.md" --output "$WORK/filters.png"
for table in avg gran bins_avg bins_gran; do cat "$WORK/$table/table.md"; done
