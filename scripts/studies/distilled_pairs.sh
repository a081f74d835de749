#!/usr/bin/env bash
# Not timed as a whole: hours on two cores, of which 10,000 captions translated with a beam of 4 are about six minutes and
# twelve encoders the most. A distilled encoder continues to learn from pairs (designs/distilled_pairs.yaml): what do
# back-translations and pairs by people add to it?
# Usage: ENCODER=DIR bash scripts/studies/distilled_pairs.sh DATA WORK
#   ENCODER  is the folder of an average that `distill` made; it also says how alike the sides of a pair are
#   DATA     holds multi30k/ manythings/ twitter_url/ wikisplit/ asset/ turkcorpus/ ppdb/ to learn from, and sts/ sick/
#            stsbenchmark/ pit2015/ and held_out.sha256-16.txt.gz, of which nothing may be learned
#   WORK     is a folder for everything that is made, once; WORK/tables has the outcome
. "$(dirname "$0")/common.sh"
export ENCODER
avoid+=("${captions[@]}")

# 1. Back-translations: of the Tatoeba sentences of the quickstart, and of captions by its model, trained on with them.
done_already "$WORK/quickstart" || hf-paraphrase quickstart --output "$WORK/quickstart"
done_already "$WORK/bitext" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --source-file "$DATA/multi30k/train.fr.gz" --target-file "$DATA/multi30k/train.en.gz" \
  --validation-source-file "$DATA/multi30k/val.fr.gz" --validation-target-file "$DATA/multi30k/val.en.gz" \
  "${avoid[@]}" --output "$WORK/bitext"
done_already "$WORK/nmt" || hf-paraphrase train-nmt --bitext "$WORK/bitext" --output "$WORK/nmt" --resume \
  --initial-model "$WORK/quickstart/rnn_search" --learning-rate 0.002 --epochs 1 --evaluations 1 --warmup-steps 40 \
  --max-dev-pairs 200
done_already "$WORK/raw_captions" || hf-paraphrase back-translate --model "$WORK/nmt" --bitext "$WORK/bitext" \
  --num-beams 4 --num-return-sequences 2 --max-sentences 10000 --output "$WORK/raw_captions" --resume
done_already "$WORK/raw_tatoeba" || hf-paraphrase filter --pairs "$WORK/quickstart/back_translated" --keep "rank<=1" \
  "${avoid[@]}" --output "$WORK/raw_tatoeba"

# 2. Pairs by people: translations in common, tweets, sentences split and simplified, PPDB's words.
done_already "$WORK/raw_people" || { make_data pairs --data "$DATA" --most 20000 --output "$WORK/people.tsv.gz" \
  --only "shared translations" tweets splits simplifications "more simplifications" words &&
  hf-paraphrase prepare pairs --tsv "$WORK/people.tsv.gz" "${avoid[@]}" --output "$WORK/raw_people"; }

# 3. What the encoder takes for no paraphrase goes.
for kind in tatoeba captions people; do
  done_already "$WORK/scored_$kind" || hf-paraphrase score --pairs "$WORK/raw_$kind" --measures similarity \
    --encoder "$ENCODER" --output "$WORK/scored_$kind"
  done_already "$WORK/$kind" || hf-paraphrase filter --pairs "$WORK/scored_$kind" --drop-identical \
    --keep "similarity>=0.6" --output "$WORK/$kind"
done
done_already "$WORK/all" || make_data joined --pairs "$WORK"/{people,tatoeba,captions} --columns sentence1 sentence2 \
  --output "$WORK/all"

# 4. Training.
study distilled_pairs "$WORK/tables"
