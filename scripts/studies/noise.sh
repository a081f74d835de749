#!/usr/bin/env bash
# 70 minutes of processor time. Paper 003 (Sjöblom, Creutz and Aulamo 2018) in English, on tweets: false pairs among the
# training pairs that were candidates for good ones (table 3), words instead of morphs (table 2), PPDB as training pairs
# (table 6), news, captions and STS as other tasks (table 7), and the cosine against people's score (figure 2).
# Candidates are pairs of tweets on one news link, that people labelled as paraphrases or not, so the share of
# false ones is known; encoders are tested on PIT-2015's dev set, tweets too.
# Usage: bash scripts/studies/noise.sh DATA WORK
#   DATA  holds twitter_url/ and ppdb/ to learn from, pit2015/ msrp/ sick/ sts/, of which nothing may be learned, and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made; what is there already is not made again; WORK/tables/*.md and
#         WORK/tables/*.png are the outcome
# From the environment: MOST_SEEDS, a limit for a first look (the design has ten of WA and five of GRAN).
set -eu
data=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
avoid=(--decontaminate "$data/sts" "$data/sick" "$data/stsbenchmark" "$data/pit2015" "$data/msrp")
avoid+=("$data/held_out.sha256-16.txt.gz")

done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. The candidates, the judged pairs, PPDB's judged phrases and words, and morphs and words of the candidates' text.
done_already "$work/tweets" || hf-paraphrase prepare pairs --tsv "$data/twitter_url/train.tsv.gz" \
  --columns label,sentence1,sentence2 "${avoid[@]}" --output "$work/tweets"
done_already "$work/judged" || hf-paraphrase prepare pit2015 --data-dir "$data/pit2015" --output "$work/judged"
[ -e "$work/ppdb.tsv" ] || python "$here/phrase_pairs.py" --ppdb "$data/ppdb" --train "$work/ppdb.tsv" \
  --held-out "$work/ppdb_held_out.tsv" --words 100000
done_already "$work/ppdb" || hf-paraphrase prepare pairs --tsv "$work/ppdb.tsv" "${avoid[@]}" --output "$work/ppdb"
done_already "$work/morphs" || hf-paraphrase train-tokenizer --kind morfessor --dampening ones --pairs "$work/tweets" \
  --output "$work/morphs"
done_already "$work/words" || hf-paraphrase train-tokenizer --kind word --vocabulary-size 0 --min-frequency 1 \
  --pairs "$work/tweets" --output "$work/words"

# 2. The encoders, what each says of the judged pairs, and the tables.
mkdir -p "$work/tables"
design=$here/designs/noise.yaml
python "$here/detection_runs.py" --design "$design" --candidates "$work/tweets" --others "ppdb=$work/ppdb" \
  --tokenizers "morphs=$work/morphs" "words=$work/words" --detection "$work/judged" --data "$data" \
  --most-seeds "${MOST_SEEDS:-1000}" --output "$work/runs"
python "$here/detection_table.py" --design "$design" --runs "$work/runs" --detection "$work/judged" --data "$data" \
  --pictures --output "$work/tables"

# 3. The cosine against people's score (figure 2).
python "$here/score_steps.py" --runs "$work/runs" --detection "$work/judged" --data "$data" \
  --cells "wa: 3000" "gran: 3000" --picture "$work/tables/score_steps.png" > "$work/tables/score_steps.md"
cat "$work/tables/score_steps.md"
