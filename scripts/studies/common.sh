# Sourced by the drivers of the encoders in the package with DATA WORK: where things are, and what is not made again.
# shellcheck shell=bash
set -eu
export DATA=$1 WORK=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$WORK"

enter_work() { # teacher; names without folders, so that an encoder's record says nothing of this machine
  local teacher
  teacher=$(realpath "$1")
  ln -sfn "$(realpath "$DATA")" "$WORK/data"
  [ -e "$WORK/all-MiniLM-L6-v2" ] || cp -r "$teacher" "$WORK/all-MiniLM-L6-v2"
  cd "$WORK"
}

done_already() { [ -e "$1" ] && echo "there already: $1"; }

make_data() { python "$here/make_data.py" "$@"; }
