#!/usr/bin/env bash
# Two hours on two cores. Translation models of French at their full size: of image captions, and of
# Tatoeba, with their BLEU.
# Usage: bash scripts/studies/french_translation.sh DATA WORK
#   DATA  holds multi30k/ manythings/ sts/ sick/ stsbenchmark/ pit2015/ and held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
# Every evaluation file at hand, and the fingerprints of those that are not: nothing of them may be trained on.
avoid=("$data/sts" "$data/sick" "$data/stsbenchmark" "$data/pit2015" "$data/held_out.sha256-16.txt.gz")
avoid+=("$data/multi30k/val.en.gz" "$data/multi30k/test_2016_flickr.en.gz")

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Bitext.
done_already "$work/multi30k" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --source-file "$data/multi30k/train.fr.gz" --target-file "$data/multi30k/train.en.gz" \
  --validation-source-file "$data/multi30k/val.fr.gz" --validation-target-file "$data/multi30k/val.en.gz" \
  --test-source-file "$data/multi30k/test_2016_flickr.fr.gz" --test-target-file "$data/multi30k/test_2016_flickr.en.gz" \
  --decontaminate "${avoid[@]}" --output "$work/multi30k"
done_already "$work/tatoeba" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --tsv "$data/manythings/fra-eng/fra.txt.gz" --columns target,source,_ --shuffle --validation-size 1000 --test-size 1000 \
  --decontaminate "${avoid[@]}" --output "$work/tatoeba"

# 2. Translation models and their BLEU.
done_already "$work/multi30k_nmt" || hf-paraphrase train-nmt --bitext "$work/multi30k" --output "$work/multi30k_nmt" \
  --epochs 16 --evaluations 8 --warmup-steps 200 --resume
done_already "$work/tatoeba_nmt" || hf-paraphrase train-nmt --bitext "$work/tatoeba" --output "$work/tatoeba_nmt" \
  --epochs 1.5 --evaluations 4 --warmup-steps 200 --resume
for corpus in multi30k tatoeba; do
  done_already "$work/${corpus}_bleu.json" || hf-paraphrase evaluate-nmt --model "$work/${corpus}_nmt" \
    --bitext "$work/$corpus" --num-beams 5 50 --output "$work/${corpus}_bleu.json"
done
