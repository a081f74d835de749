#!/usr/bin/env bash
# An hour on one core, beside other work: four tasks, two encoders, five seeds, about 160 runs (designs/supervised.yaml).
# Supervised training in the ways of paper 001: from scratch, fine-tuned, and held close to the pretrained encoder.
# Usage: bash scripts/studies/supervised.sh DATA WORK
#   DATA  holds sick/ and transfer/
#   WORK  is the folder in which scripts/studies/encoders.sh made back-translations and word vectors (TABLES=sources)
# SICK's test part is not at hand: its 500 trial pairs are reported, a tenth of its training part chooses the epoch.
# MR and CR have no parts of their own: a tenth is drawn for each of both.
. "$(dirname "$0")/common.sh"
fetch_glove
for corpus in sick transfer; do
  done_already "$WORK/$corpus" || hf-paraphrase prepare $corpus --data-dir "$DATA/$corpus" --output "$WORK/$corpus"
done
for task in mr cr; do
  done_already "$WORK/$task" || make_data parts --data "$WORK/transfer" --split "$task.train" --output "$WORK/$task"
done
done_already "$WORK/encoders/pairs" || hf-paraphrase filter --pairs "$WORK/back" --sample 24000 \
  --output "$WORK/encoders/pairs"
for kind in avg gran; do
  done_already "$WORK/encoders/$kind" || hf-paraphrase train-encoder --config "$here/../configs/paper_000_$kind.yaml" \
    --pairs "$WORK/encoders/pairs" --initial-vectors "$GLOVE" --dev-data "$DATA/sts/STS16-en-test" \
    --output "$WORK/encoders/$kind"
done
study supervised "$WORK/supervised"
