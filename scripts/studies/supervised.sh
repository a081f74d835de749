#!/usr/bin/env bash
# An hour on one core, beside other work: four tasks, two encoders, five seeds, 155 runs.
# Supervised training in the ways of paper 001: from scratch, fine-tuned, and held close to the pretrained encoder.
# Usage: bash scripts/studies/supervised.sh DATA WORK [further flags of scripts/studies/supervised_runs.py]
#   DATA  holds sick/ and transfer/
#   WORK  is the folder in which scripts/studies/encoders.sh made back-translations and word vectors (TABLES=sources)
# SICK's test part is not at hand: its 500 trial pairs are reported, a tenth of its training part chooses the epoch.
# MR and CR have no parts of their own: a tenth is drawn for each of both.
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

for corpus in sick transfer; do
  done_already "$work/$corpus" || hf-paraphrase prepare $corpus --data-dir "$data/$corpus" --output "$work/$corpus"
done
done_already "$work/encoders/pairs" || hf-paraphrase filter --pairs "$work/back" --sample 24000 \
  --output "$work/encoders/pairs"
for kind in avg gran; do
  done_already "$work/encoders/$kind" || hf-paraphrase train-encoder --config "$here/../configs/paper_000_$kind.yaml" \
    --pairs "$work/encoders/pairs" --initial-vectors "$work/glove.100d.txt" --dev-data "$data/sts/STS16-en-test" \
    --output "$work/encoders/$kind"
done
python "$here/supervised_runs.py" --sick "$work/sick" --transfer "$work/transfer" \
  --encoders "Avg=$work/encoders/avg" "GRAN=$work/encoders/gran" \
  --initial-vectors "$work/glove.100d.txt" --output "$work/supervised" "${@:3}"
