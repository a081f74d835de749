#!/usr/bin/env bash
# Two hours on two cores. Translation models of French at their full size: of image captions, and of
# Tatoeba, with their BLEU.
# Usage: bash scripts/studies/french_translation.sh DATA WORK
#   DATA  holds multi30k/ manythings/ sts/ sick/ stsbenchmark/ pit2015/ and held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made
. "$(dirname "$0")/common.sh"
avoid+=("${captions[@]}")

# 1. Bitext.
done_already "$WORK/multi30k" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --source-file "$DATA/multi30k/train.fr.gz" --target-file "$DATA/multi30k/train.en.gz" \
  --validation-source-file "$DATA/multi30k/val.fr.gz" --validation-target-file "$DATA/multi30k/val.en.gz" \
  --test-source-file "$DATA/multi30k/test_2016_flickr.fr.gz" --test-target-file "$DATA/multi30k/test_2016_flickr.en.gz" \
  "${avoid[@]}" --output "$WORK/multi30k"
done_already "$WORK/tatoeba" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --tsv "$DATA/manythings/fra-eng/fra.txt.gz" --columns target,source,_ --shuffle --validation-size 1000 --test-size 1000 \
  "${avoid[@]}" --output "$WORK/tatoeba"

# 2. Translation models and their BLEU.
done_already "$WORK/multi30k_nmt" || hf-paraphrase train-nmt --bitext "$WORK/multi30k" --output "$WORK/multi30k_nmt" \
  --epochs 16 --evaluations 8 --warmup-steps 200 --resume
done_already "$WORK/tatoeba_nmt" || hf-paraphrase train-nmt --bitext "$WORK/tatoeba" --output "$WORK/tatoeba_nmt" \
  --epochs 1.5 --evaluations 4 --warmup-steps 200 --resume
for corpus in multi30k tatoeba; do
  done_already "$WORK/${corpus}_bleu.json" || hf-paraphrase evaluate-nmt --model "$WORK/${corpus}_nmt" \
    --bitext "$WORK/$corpus" --num-beams 5 50 --output "$WORK/${corpus}_bleu.json"
done
