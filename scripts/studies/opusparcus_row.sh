#!/usr/bin/env bash
# Never run whole, as Opusparcus is not at hand: about three hours on one core by the times in docs/studies/detection.md
# for 10,000 pairs (a hundred times GRAN's 100 s and twice WA's 7 s), and Morfessor's time for all the text.
# One row of Table 2 of paper 003 (Sjöblom, Creutz and Aulamo 2018) from the unpacked Opusparcus 1.0, and the PPDB row
# of Table 6 where PPDB is given.
# Usage: bash scripts/studies/opusparcus_row.sh OPUSPARCUS LANG WORK [PPDB]
#   OPUSPARCUS  holds LANG/train/LANG-train.txt.bz2, LANG/dev/LANG-dev.txt and LANG/test/LANG-test.txt
#   LANG        de, en, fi, fr, ru or sv
#   WORK        is a folder for everything that is made
#   PPDB        is a phrasal pack of the language (PPDB 2.0 for English, 1.0 for others), e.g. ppdb-1.0-xl-phrasal.gz
# FIRST=1000000 in the environment is the number of positive pairs. For a column of Table 3, give `--quality 80` to
# `prepare opusparcus` and leave `--first` out of `filter`.
set -eu
opusparcus=$1 lang=$2 work=$3 ppdb=${4:-}
first=${FIRST:-1000000}
configs=$(cd "$(dirname "$0")" && pwd)/../configs
mkdir -p "$work"

# The whole training part, best pairs first, with the judged pairs; training pairs that are judged ones are left out.
hf-paraphrase prepare opusparcus --data-dir "$opusparcus" --lang "$lang" --output "$work/all"

# The first million as positives, as many random pairs as negatives.
hf-paraphrase filter --pairs "$work/all" --first "$first" --negatives 1 --output "$work/pairs"

# Morphs of all the training text; words for WA-M, the model without them.
hf-paraphrase train-tokenizer --kind morfessor --dampening ones --pairs "$work/all" --output "$work/morphs"
hf-paraphrase train-tokenizer --kind word --vocabulary-size 0 --min-frequency 1 --split-contractions false --pairs "$work/pairs" --output "$work/words"

hf-paraphrase train-encoder --config "$configs/paper_003_avg.yaml" --pairs "$work/pairs" --tokenizer "$work/words" --output "$work/wa_m"
hf-paraphrase train-encoder --config "$configs/paper_003_avg.yaml" --pairs "$work/pairs" --tokenizer "$work/morphs" --output "$work/wa"
hf-paraphrase train-encoder --config "$configs/paper_003_gran.yaml" --pairs "$work/pairs" --tokenizer "$work/morphs" --output "$work/gran"

# Table 2: the baseline AP, WA-M, WA and GRAN.
hf-paraphrase evaluate --suite paraphrase --data "$work/all" --model "$work/wa_m" "$work/wa" "$work/gran" --output "$work/table_2.json"

# Table 6: as many tokens of PPDB as those pairs have.
if [ -n "$ppdb" ]; then
  tokens=$(python -c "import json; print(json.load(open('$work/pairs/provenance.json'))['results']['tokens'])")
  hf-paraphrase prepare ppdb --file "$ppdb" --lang "$lang" --output "$work/ppdb_all"
  hf-paraphrase filter --pairs "$work/ppdb_all" --max-tokens "$tokens" --negatives 1 --output "$work/ppdb"
  hf-paraphrase train-encoder --config "$configs/paper_003_gran.yaml" --pairs "$work/ppdb" --tokenizer "$work/morphs" --output "$work/gran_ppdb"
  hf-paraphrase evaluate --suite paraphrase --data "$work/all" --model "$work/gran_ppdb" --output "$work/table_6.json"
fi
