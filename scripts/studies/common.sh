# Sourced by the drivers of studies with DATA WORK: where things are, what may not be trained on, what is fetched.
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

fetch_glove() { # word vectors; see designs/glove.yaml
  python "$here/study.py" "$DATA" "$WORK" glove
  export GLOVE=${GLOVE:-$WORK/glove.100d.txt}
}

avg_seeds=${AVG_SEEDS:-0 1 2 3 4 5 6 7 8 9} gran_seeds=${GRAN_SEEDS:-0 1 2 3 4}

tune() { # output, seeds, pairs of a draw, further flags
  # The seeds are words.
  # shellcheck disable=SC2086
  done_already "$1" || hf-paraphrase tune --dev-data "$DATA/sts/STS16-en-test" --data "$DATA/sts" \
    --initial-vectors "$GLOVE" --bootstrap 2000 --seeds $2 --sample "$3" --output "$1" --resume "${@:4}"
}
