#!/usr/bin/env bash
# Half an hour of processor time. Which pairs of normal and simple sentences make good training pairs (paper 000, right
# halves of tables 5, 6 and 12)? SimpWiki cannot be had; sentences of Wikipedia with simplifications by people stand in. A
# draw takes a fifth of them at most, so that draws differ; one seed chooses each filter's range on STS 2016, and what
# is chosen and random pairs have all seeds.
# Usage: bash scripts/studies/simplifications.sh DATA WORK
#   DATA  holds turkcorpus/ asset/ (and wikisplit/) to learn from, and sts/ sick/ stsbenchmark/ pit2015/ msrp/ and
#         held_out.sha256-16.txt.gz, of which nothing may be learned
#   WORK  is a folder for everything that is made; existing outputs are reused; WORK/avg/table.md,
#         WORK/gran/table.md and WORK/bins/table.md have the tables, WORK/simplifications.png the gains
# From the environment: SAMPLE, pairs of a draw (default 4000); SPLITS=yes, sentences that were split in two count as
# simplifications too; AVG_SEEDS, GRAN_SEEDS (default ten and five); GLOVE, word vectors (default: those of
# designs/glove.yaml).
. "$(dirname "$0")/common.sh"
sources=("more simplifications" simplifications)
if [ "${SPLITS:-no}" = yes ]; then sources+=(splits); fi
# 1. The pairs, with all measures.
avoid+=("$DATA/msrp")
fetch_glove
[ -e "$WORK/pairs.tsv.gz" ] || make_data pairs --data "$DATA" --only "${sources[@]}" --output "$WORK/pairs.tsv.gz"
done_already "$WORK/pairs" || hf-paraphrase prepare pairs --tsv "$WORK/pairs.tsv.gz" "${avoid[@]}" \
  --output "$WORK/pairs"
done_already "$WORK/scored" || hf-paraphrase score --pairs "$WORK/pairs" --output "$WORK/scored" --resume

# 2. The grids. A core for each of the two: small models gain little by a second.
export OMP_NUM_THREADS=1
sample=${SAMPLE:-4000} pairs=(--pairs "simple=$WORK/scored")
ranges=(--keep "length<=10" "length<=15" "length<=20" "length<=30" "overlap_1<=0.7" "overlap_1<=0.8" "overlap_1<=0.9"
  "overlap_2<=0.4" "overlap_2<=0.6" "overlap_2<=0.8" "overlap_3<=0.2" "overlap_3<=0.4" "overlap_3<=0.6" "overlap_3<=0.8"
  "bleu<=0.2" "bleu<=0.3" "bleu<=0.4" "bleu<=0.6" "bleu<=0.8")
tune "$WORK/avg" "$avg_seeds" "$sample" "${pairs[@]}" --epochs 20 "${ranges[@]}" &
averages=$!
trap wait EXIT
tune "$WORK/gran" "$gran_seeds" "$sample" "${pairs[@]}" --encoders gran --epochs 3 "${ranges[@]}"
wait "$averages"

# 3. Table 5: bins of length with equally many pairs each.
tune "$WORK/bins" "$gran_seeds" 1900 "${pairs[@]}" --encoders avg gran --epochs 20 --filters length_bins \
  --grid-seeds "$(wc -w <<< "$gran_seeds")"
python "$here/study_tables.py" --tables "$WORK/avg/table.md" "$WORK/gran/table.md" \
  --output "$WORK/simplifications.png"
for name in avg gran bins; do cat "$WORK/$name/table.md"; done
