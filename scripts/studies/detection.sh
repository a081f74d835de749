#!/usr/bin/env bash
# About an hour and a half on one core of two, reckoned from what three seeds took. The study of paper 003 (Sjöblom,
# Creutz and Aulamo 2018) on sentences of Tatoeba that share a translation, in Finnish and English: segmentation or not
# (Table 9), word averaging against GRAN (Table 2), random noise in the training pairs (Table 3; noise.sh has false
# candidates instead). Judged pairs are those of the Turku Paraphrase Corpus (grades 3 and 4 against 1
# and 2) and of PIT-2015's dev set; for German, French, Russian and Swedish there are none. What is finished is not done
# again; cheap cells come first.
# Usage: bash scripts/studies/detection.sh DATA WORK
#   DATA  holds manythings/ turku_paraphrase/ pit2015/
#   WORK  is a folder for everything that is made; results.jsonl and tables.md are the outcome
# Settings from the environment, with their defaults: FIRST=10000 training pairs, SEEDS="0 1 2 3 4", STAGES="wa gran english
# sizes noise" of which some may be left out. What is finished is noted.
set -eu
data=$1 work=$2
first=${FIRST:-10000} seeds=${SEEDS:-0 1 2 3 4} stages=${STAGES-wa gran english sizes noise}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Ranked pairs of each language. A judged sentence of four words or more is in none of them.
bitext() { # name, source language, target language, file, columns
  done_already "$work/$1" || hf-paraphrase prepare bitext --source-lang "$2" --target-lang "$3" \
    --tsv "$data/manythings/$4" --columns "$5" --shuffle --output "$work/$1"
}
bitext bitext_en_fi en fi fin-eng/fin.txt.gz source,target
done_already "$work/pivot_fi" || hf-paraphrase prepare pivot --bitext "$work/bitext_en_fi" --ranked \
  --decontaminate "$data/turku_paraphrase" --output "$work/pivot_fi"
through=()
for language in deu:de fin:fi swe:sv ces:cs fra:fr; do
  name=bitext_${language#*:}_en
  bitext "$name" "${language#*:}" en "${language%:*}-eng/${language%:*}.txt.gz" target,source
  through+=("$work/$name")
done
done_already "$work/pivot_en" || hf-paraphrase prepare pivot --bitext "${through[@]}" --ranked \
  --decontaminate "$data/pit2015" --output "$work/pivot_en"

# 2. The judged pairs.
done_already "$work/judged_fi" || hf-paraphrase prepare turku --data-dir "$data/turku_paraphrase" \
  --output "$work/judged_fi"
done_already "$work/judged_en" || hf-paraphrase prepare pit2015 --data-dir "$data/pit2015" --output "$work/judged_en"

# 3. Tokenizers over all text of the language at hand: words, morphs, and byte pairs, as many as there are morphs.
for language in fi en; do
  text=$work/text_$language.txt
  files=("$data"/manythings/*/*.txt.gz) field=1
  [ $language = fi ] && files=("$data/manythings/fin-eng/fin.txt.gz") field=2
  [ -e "$text" ] || gzip -cd "${files[@]}" | cut -f $field | LC_ALL=C sort -u >"$text"
  done_already "$work/none_$language" || hf-paraphrase train-tokenizer --kind word --vocabulary-size 0 \
    --min-frequency 1 --split-contractions false --text "$text" --output "$work/none_$language"
  done_already "$work/morfessor_$language" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones \
    --text "$text" --output "$work/morfessor_$language"
  size=$(python -c "import json; print(json.load(open('$work/morfessor_$language/provenance.json'))['results']['vocabulary'])")
  done_already "$work/bpe_$language" || hf-paraphrase train-tokenizer --kind bpe --vocabulary-size "$size" \
    --text "$text" --output "$work/bpe_$language"
done

# 4. The cells. Both evaluations are over five folds that share no sentence.
cells() { # language, models, segmentations, pairs, shares of noise
  local tokenizers=() configs=() judged=(--split validation)
  [ "$1" = fi ] && judged=(--split opus_parsebank.validation --positive-above 2.5)
  for name in $3; do tokenizers+=("$name=$work/${name}_$1"); done
  for name in $2; do
    [ "$name" = wa ] && configs+=("wa=$here/../configs/paper_003_avg.yaml") || configs+=("gran=$here/../configs/paper_003_gran.yaml")
  done
  # shellcheck disable=SC2086
  python "$here/detection_runs.py" --language "$1" --pairs "$work/pivot_$1" --data "$work/judged_$1" "${judged[@]}" \
    --tokenizers "${tokenizers[@]}" --configs "${configs[@]}" --first $4 --noise $5 --seeds $seeds \
    --output "$work/results.jsonl"
  python "$here/detection_table.py" "$work/results.jsonl" >"$work/tables.md"
}
for stage in $stages; do
  case $stage in
    wa)
      cells fi wa "morfessor none bpe" "$first" 0
      cells fi wa morfessor "$first" "0.4 0.2 0.1 0.3"
      ;;
    gran)
      cells fi gran morfessor "$first" "0 0.4"
      cells fi gran "none bpe" "$first" 0
      ;;
    english)
      cells en wa "morfessor none" "$first" 0
      cells en wa morfessor "$first" "0.4 0.2 0.1 0.3"
      cells en gran "morfessor none" "$first" 0
      ;;
    sizes)
      cells fi wa morfessor "2000 50000" 0
      ;;
    noise)
      cells fi gran morfessor "$first" "0.2 0.1 0.3"
      ;;
    *)
      echo "detection.sh: unknown stage $stage" >&2
      exit 2
      ;;
  esac
done
cat "$work/tables.md"
