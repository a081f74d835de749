#!/usr/bin/env bash
# An hour or two on two cores for each seed; ten minutes of processor time with PAIRS=30000 EPOCHS=2 HIDDEN=64, which is
# how the study was run, with five seeds.
# Makes the tables and figure 1 of paper 002 (Grégoire and Langlais 2017) on a task made from bitext, and the tables of its
# repair, with what may be said of them over the seeds of everything that is trained.
# Usage: bash scripts/studies/mining.sh DATA WORK [LANGUAGE]
#   DATA      holds manythings/ libreoffice_help/ multi30k/
#   WORK      is a folder for everything that is made; existing outputs are reused;
#             WORK/table.md and WORK/curves.png are the outcome
#   LANGUAGE  fr (default) or de
# Sizes, from the environment; in brackets those of the paper:
#   SENTENCES=20000 sentences on each side of the parts    PAIRS=100000 pairs to train classifiers on (500000)
#   EPOCHS=3 of the classifiers (10)                       HIDDEN=128 components of a recurrent state (200)
#   SEEDS="0 1 2" seeds of everything that is trained (one run)
#   BATCH=768 labelled pairs in a batch (128)              RATE=2e-3 learning rate of the classifiers (2e-4)
. "$(dirname "$0")/common.sh"
language=${3:-fr}
sentences=${SENTENCES:-20000} pairs=${PAIRS:-100000} epochs=${EPOCHS:-3} hidden=${HIDDEN:-128}
batch=${BATCH:-768} rate=${RATE:-2e-3}
case $language in
  fr) tatoeba=fra ;;
  de) tatoeba=deu ;;
  *) echo "language must be fr or de, not $language" >&2; exit 2 ;;
esac
bitext() { # name, further flags
  done_already "$WORK/$1" || hf-paraphrase prepare bitext --source-lang "$language" --target-lang en \
    --output "$WORK/$1" "${@:2}"
}

# 1. The task, the bitext that shares no sentence with it, and subwords of both languages.
bitext tatoeba --tsv "$DATA/manythings/$tatoeba-eng/$tatoeba.txt.gz" --columns target,source,_
bitext help --tsv "$DATA/libreoffice_help/lo-help-7.4.7.$language-en.tsv.gz" --columns source,target
bitext multi30k --source-file "$DATA/multi30k/train.$language.gz" --target-file "$DATA/multi30k/train.en.gz"
task="$WORK/task"
done_already "$task" || hf-paraphrase prepare comparable --sentences "$sentences" --output "$task" \
  --bitext "$WORK/tatoeba" "$WORK/help" "$WORK/multi30k"

done_already "$WORK/joint_subwords" || hf-paraphrase train-tokenizer --kind bpe --pairs "$task/bitext" \
  --vocabulary-size 20000 --output "$WORK/joint_subwords"
seeds=()
for seed in ${SEEDS:-0 1 2}; do
  made="$WORK/seed_$seed"
  seeds+=("$made")
  mkdir -p "$made"

  # 2. The vectors of the filter, and an encoder of both languages with the margin loss.
  done_already "$made/bilbowa" || hf-paraphrase train-bilingual-vectors --bitext "$task/bitext" --output "$made/bilbowa" \
    --epochs 4 --seed "$seed" --resume
  done_already "$made/joint" || hf-paraphrase train-encoder --pairs "$task/bitext" --output "$made/joint" \
    --tokenizer "$WORK/joint_subwords" --hidden-size 300 --epochs 10 --negatives-from opposite --seed "$seed" --resume

  # 3. Classifiers: random negatives with digits kept, made 0 and removed; negatives from the n-best lists.
  filter=(--source-encoder "$made/bilbowa/source" --target-encoder "$made/bilbowa/target")
  classifier() { # name, further flags
    done_already "$made/$1" || hf-paraphrase train-parallel-classifier --bitext "$task/bitext" --output "$made/$1" \
      --initial-vectors "$made/bilbowa" --max-pairs "$pairs" --epochs "$epochs" --hidden-size "$hidden" \
      --batch-size "$batch" --learning-rate "$rate" --seed "$seed" --resume "${@:2}"
  }
  classifier random
  classifier zero --digits zero
  classifier remove --digits remove
  classifier hard "${filter[@]}"

  # 4. The tables: recall of the filters (table 1), digits (table 2), the paper's set-up on candidates (table 3), and the
  #    repair row by row, thresholds chosen on the part training and measured on the part test.
  done_already "$made/report" || hf-paraphrase evaluate-mining --task "$task/$language-en" "${filter[@]}" \
    --scoring-encoder "$made/joint" --classifier "$made"/{random,zero,remove,hard} --output "$made/report" --resume
done
python "$here/mining.py" "${seeds[@]/%//report}" --picture "$WORK/curves.png" | tee "$WORK/table.md"

# 5. What a user would do with the best of it: the pairs themselves.
done_already "$WORK/mined" || hf-paraphrase mine --layout bucc --source "$task/$language-en.test.$language" \
  --target "$task/$language-en.test.en" --gold "$task/$language-en.test.gold" --tune-on "$task/$language-en.training" \
  --encoder "${seeds[0]}/joint" --margin --one-to-one --output "$WORK/mined"
