#!/usr/bin/env bash
# Not timed as a whole, in minutes. Paper 003, section 4.2.1 (tables 4, 5, 10, 11 and figure 1): what do word averaging and GRAN find
# near a sentence? Encoders of the paper's kind, some seeds each, on pairs of Tatoeba's sentences that have a translation
# in common; queries and what is near them are English sentences of Tatoeba too.
# Usage: bash scripts/studies/neighbours.sh DATA WORK
#   DATA  holds manythings/ to learn from, and sts/ sick/ stsbenchmark/ pit2015/ msrp/ and held_out.sha256-16.txt.gz, of
#         which nothing may be learned
#   WORK  is a folder for everything that is made; what is there already is not made again; WORK/neighbours.md and
#         WORK/neighbours.png are the outcome
# From the environment: SEEDS (default "0 1 2 3 4"); PAIRS, how many each draws (default 15000); SENTENCES that are
# looked at (default 100000).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
seeds=${SEEDS:-0 1 2 3 4}
mkdir -p "$work"

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. The pairs, morphs of their text, and the sentences to look among.
done_already "$work/pairs" || { python "$here/free_pairs.py" --data "$data" --only "shared translations" --most 30000 \
  --output "$work/pairs.tsv.gz" && hf-paraphrase prepare pairs --tsv "$work/pairs.tsv.gz" --output "$work/pairs" \
  --decontaminate "$data"/{sts,sick,stsbenchmark,pit2015,msrp} "$data/held_out.sha256-16.txt.gz"; }
done_already "$work/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --pairs "$work/pairs" \
  --output "$work/morphs"
[ -e "$work/sentences.txt" ] || { gzip -cd "$data"/manythings/{fra,deu}-eng/*.txt.gz | cut -f1 >"$work/sentences.part" &&
  mv "$work/sentences.part" "$work/sentences.txt"; }

# 2. The encoders.
for seed in $seeds; do
  done_already "$work/pairs_$seed" || hf-paraphrase filter --pairs "$work/pairs" --sample "${PAIRS:-15000}" --seed "$seed" \
    --negatives "$seed" --output "$work/pairs_$seed"
  for kind in avg gran; do
    done_already "$work/${kind}_$seed" || hf-paraphrase train-encoder --config "$here/../configs/paper_003_$kind.yaml" \
      --pairs "$work/pairs_$seed" --tokenizer "$work/morphs" --seed "$seed" --output "$work/${kind}_$seed" --resume
  done
done

# 3. The table and the picture.
folders() { printf "$work/$1_%s," $seeds | sed 's/,$//'; }
python "$here/neighbours_table.py" --encoders "WA=$(folders avg)" "GRAN=$(folders gran)" --text "$work/sentences.txt" \
  --sentences "${SENTENCES:-100000}" --output "$work"
cat "$work/neighbours.md"
