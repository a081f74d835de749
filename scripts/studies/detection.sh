#!/usr/bin/env bash
# An hour and a half of processor time. Paper 003 (Sjöblom, Creutz and Aulamo 2018) in Finnish, on sentences of Tatoeba
# that share a translation (designs/detection.yaml). Judged pairs are those of the Turku Paraphrase Corpus, grades 3 and
# 4 against 1 and 2. English has noise.sh; for German, French, Russian and Swedish no judged pairs are at hand.
# Usage: bash scripts/studies/detection.sh DATA WORK
#   DATA  holds manythings/ to learn from, and turku_paraphrase/, of which nothing may be learned
#   WORK  is a folder for everything that is made, once; WORK/tables has the outcome
# From the environment: MOST_SEEDS, a limit for a first look (the design has ten of WA and five of GRAN).
. "$(dirname "$0")/common.sh"

# 1. Ranked pairs, none with a judged sentence of four words or more, and the judged pairs.
done_already "$WORK/bitext_en_fi" || hf-paraphrase prepare bitext --source-lang en --target-lang fi \
  --tsv "$DATA/manythings/fin-eng/fin.txt.gz" --columns source,target --shuffle --output "$WORK/bitext_en_fi"
done_already "$WORK/pivot_fi" || hf-paraphrase prepare pivot --bitext "$WORK/bitext_en_fi" --ranked \
  --decontaminate "$DATA/turku_paraphrase" --output "$WORK/pivot_fi"
done_already "$WORK/judged_fi" || hf-paraphrase prepare turku --data-dir "$DATA/turku_paraphrase" \
  --output "$WORK/judged_fi"

# 2. Tokenizers over all of Tatoeba's Finnish: morphs, words, and byte pairs, as many as there are morphs.
text=$WORK/text_fi.txt
[ -e "$text" ] || gzip -cd "$DATA/manythings/fin-eng/fin.txt.gz" | cut -f 2 | LC_ALL=C sort -u >"$text"
done_already "$WORK/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --text "$text" \
  --output "$WORK/morphs"
done_already "$WORK/words" || hf-paraphrase train-tokenizer --kind word --vocabulary-size 0 --min-frequency 1 \
  --split-contractions false --text "$text" --output "$WORK/words"
if ! done_already "$WORK/bpe"; then
  size=$(python -c "import json; print(json.load(open('$WORK/morphs/provenance.json'))['results']['vocabulary'])")
  hf-paraphrase train-tokenizer --kind bpe --vocabulary-size "$size" --text "$text" --output "$WORK/bpe"
fi

# 3. The encoders, what each says of the judged pairs, and the table.
study detection "$WORK/tables"
