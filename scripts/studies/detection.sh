#!/usr/bin/env bash
# An hour and a half of processor time. Paper 003 (Sjöblom, Creutz and Aulamo 2018) in Finnish, on sentences of Tatoeba
# that share a translation: segmentation or not (tables 2 and 9), word averaging against GRAN (table 2), random noise in
# the training pairs (table 3), more pairs, also at a smaller rate, and what of GRAN is dropped out. Judged pairs are
# those of the Turku Paraphrase Corpus, grades 3 and 4 against 1 and 2. English has noise.sh, with false candidates; for
# German, French, Russian and Swedish no judged pairs are at hand.
# Usage: bash scripts/studies/detection.sh DATA WORK
#   DATA  holds manythings/ to learn from, and turku_paraphrase/, of which nothing may be learned
#   WORK  is a folder for everything that is made; what is there already is not made again; WORK/tables/detection.md and
#         WORK/tables/detection.png are the outcome
# From the environment: MOST_SEEDS, a limit for a first look (the design has ten of WA and five of GRAN).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Ranked pairs, none with a judged sentence of four words or more, and the judged pairs.
done_already "$work/bitext_en_fi" || hf-paraphrase prepare bitext --source-lang en --target-lang fi \
  --tsv "$data/manythings/fin-eng/fin.txt.gz" --columns source,target --shuffle --output "$work/bitext_en_fi"
done_already "$work/pivot_fi" || hf-paraphrase prepare pivot --bitext "$work/bitext_en_fi" --ranked \
  --decontaminate "$data/turku_paraphrase" --output "$work/pivot_fi"
done_already "$work/judged_fi" || hf-paraphrase prepare turku --data-dir "$data/turku_paraphrase" \
  --output "$work/judged_fi"

# 2. Tokenizers over all of Tatoeba's Finnish: morphs, words, and byte pairs, as many as there are morphs.
text=$work/text_fi.txt
[ -e "$text" ] || gzip -cd "$data/manythings/fin-eng/fin.txt.gz" | cut -f 2 | LC_ALL=C sort -u >"$text"
done_already "$work/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --text "$text" \
  --output "$work/morphs"
done_already "$work/words" || hf-paraphrase train-tokenizer --kind word --vocabulary-size 0 --min-frequency 1 \
  --split-contractions false --text "$text" --output "$work/words"
if ! done_already "$work/bpe"; then
  size=$(python -c "import json; print(json.load(open('$work/morphs/provenance.json'))['results']['vocabulary'])")
  hf-paraphrase train-tokenizer --kind bpe --vocabulary-size "$size" --text "$text" --output "$work/bpe"
fi

# 3. The encoders, what each says of the judged pairs, and the table.
design=$here/designs/detection.yaml
python "$here/detection_runs.py" --design "$design" --candidates "$work/pivot_fi" \
  --tokenizers "morphs=$work/morphs" "words=$work/words" "bpe=$work/bpe" --detection "$work/judged_fi" --data "$data" \
  --most-seeds "${MOST_SEEDS:-1000}" --output "$work/runs"
python "$here/detection_table.py" --design "$design" --runs "$work/runs" --detection "$work/judged_fi" --data "$data" \
  --pictures --output "$work/tables"
