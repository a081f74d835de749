#!/usr/bin/env bash
# Not timed as a whole: hours on two cores, of which 10,000 captions translated with a beam of 4 are about six minutes and
# twelve encoders the most.
# A distilled encoder continues to learn from pairs: what back-translations and pairs by people add to it.
# Usage: bash scripts/studies/distilled_pairs.sh DATA ENCODER WORK
#   DATA     holds multi30k/ manythings/ twitter_url/ wikisplit/ asset/ turkcorpus/ ppdb/ to learn from, and sts/ sick/
#            stsbenchmark/ pit2015/ and held_out.sha256-16.txt.gz, of which nothing may be learned
#   ENCODER  is the folder of an average that `distill` made; it also says how alike the sides of a pair are
#   WORK     is a folder for everything that is made; what is there already is not made again
# From the environment: SEEDS (default "0 1 2"); CAPTIONS, how many captions are translated back (default 10000).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$(realpath "$1") encoder=$(realpath "$2") work=$3
seeds=${SEEDS:-0 1 2}
mkdir -p "$work"
cd "$work"
avoid=(--decontaminate "$data/sts" "$data/sick" "$data/stsbenchmark" "$data/pit2015" "$data/held_out.sha256-16.txt.gz")
done_already() { [ -e "$1" ] && echo "there already: $1"; }

# 1. Back-translations: of the Tatoeba sentences of the quickstart, and of captions by its model, trained on with them.
done_already quickstart || hf-paraphrase quickstart --output quickstart
done_already captions || hf-paraphrase prepare bitext --source-lang fr --target-lang en \
  --source-file "$data/multi30k/train.fr.gz" --target-file "$data/multi30k/train.en.gz" \
  --validation-source-file "$data/multi30k/val.fr.gz" --validation-target-file "$data/multi30k/val.en.gz" \
  "${avoid[@]}" "$data/multi30k/val.en.gz" "$data/multi30k/test_2016_flickr.en.gz" --output captions
done_already captions_nmt || hf-paraphrase train-nmt --bitext captions --initial-model quickstart/rnn_search \
  --learning-rate 0.002 --epochs 1 --evaluations 1 --warmup-steps 40 --max-dev-pairs 200 --output captions_nmt --resume
done_already captions_translated || hf-paraphrase back-translate --model captions_nmt --bitext captions --num-beams 4 \
  --num-return-sequences 2 --max-sentences "${CAPTIONS:-10000}" --output captions_translated --resume
done_already raw_tatoeba || hf-paraphrase filter --pairs quickstart/back_translated --keep "rank<=1" \
  "${avoid[@]}" --output raw_tatoeba
done_already raw_captions || hf-paraphrase filter --pairs captions_translated --output raw_captions

# 2. Pairs by people.
for language in fra deu; do
  done_already "bitext_$language" || hf-paraphrase prepare bitext --source-lang "${language:0:2}" --target-lang en \
    --tsv "$data/manythings/$language-eng/$language.txt.gz" --columns target,source,_ --shuffle \
    --validation-size 500 --test-size 500 "${avoid[@]}" --output "bitext_$language"
done
done_already raw_shared || hf-paraphrase prepare pivot --bitext bitext_fra bitext_deu --output raw_shared
done_already tweets || hf-paraphrase prepare pairs --tsv "$data/twitter_url/train.tsv.gz" \
  --columns label,sentence1,sentence2 "${avoid[@]}" --output tweets
done_already raw_tweets || hf-paraphrase filter --pairs tweets --keep "label==1" --output raw_tweets
done_already raw_split || hf-paraphrase prepare pairs --tsv "$data/wikisplit/wikisplit.tsv.gz" --on-error skip \
  --columns sentence1,sentence2,_,_,_,_,_,_,_ "${avoid[@]}" --output raw_split
done_already raw_asset1 || hf-paraphrase prepare pairs --tsv "$data/asset/asset.valid.tsv.gz" --on-error skip \
  --columns sentence1,sentence2,_,_,_,_,_,_,_,_,_ "${avoid[@]}" --output raw_asset1
done_already raw_asset2 || hf-paraphrase prepare pairs --tsv "$data/asset/asset.valid.tsv.gz" --on-error skip \
  --columns sentence1,_,_,_,_,sentence2,_,_,_,_,_ "${avoid[@]}" --output raw_asset2
done_already raw_simple || hf-paraphrase prepare simpwiki --normal "$data/turkcorpus/tune.8turkers.tok.norm" \
  --simple "$data/turkcorpus/tune.8turkers.tok.simp" "${avoid[@]}" --output raw_simple
done_already raw_ppdb || hf-paraphrase prepare ppdb --file "$data/ppdb/ppdb-xl.retrofitting.txt.gz" --drop-identical \
  --max-tokens 60000 "${avoid[@]}" --output raw_ppdb

# 3. What the encoder takes for no paraphrase goes; of single words that is less.
for kind in tatoeba captions shared tweets split asset1 asset2 simple ppdb; do
  done_already "scored_$kind" || hf-paraphrase score --pairs "raw_$kind" --measures similarity --encoder "$encoder" \
    --output "scored_$kind"
  least=0.6
  [ "$kind" = ppdb ] && least=0.3
  done_already "$kind" || hf-paraphrase filter --pairs "scored_$kind" --drop-identical --keep "similarity>=$least" \
    --output "$kind"
done
people=(shared tweets split asset1 asset2 simple ppdb=10000)
for set in "people ${people[*]}" "all ${people[*]} tatoeba captions"; do
  read -ra words <<< "$set"
  name=mixed_${words[0]}
  done_already "$name" || python "$here/mixed_pairs.py" --pairs "${words[@]:1}" --output "$name.jsonl"
  done_already "$name" || hf-paraphrase prepare pairs --jsonl "$name.jsonl" --output "$name"
done

# 4. Training, each set about as many steps; the epoch is chosen on STS 2016.
compared=("none=$encoder")
for row in "captions captions 12" "tatoeba tatoeba 12" "people mixed_people 3" "all mixed_all 3"; do
  read -r name pairs epochs <<< "$row"
  found=()
  for seed in $seeds; do
    done_already "on_${name}_$seed" || hf-paraphrase train-encoder --initial-model "$encoder" --pairs "$pairs" \
      --epochs "$epochs" --mega-batch-size 40 --learning-rate 0.0003 --seed "$seed" --dev-data "$data/sts" \
      --output "on_${name}_$seed" --resume
    found+=("on_${name}_$seed")
  done
  compared+=("$name=$(IFS=,; echo "${found[*]}")")
done
python "$here/paired_differences.py" --data "$data/sts" --model "${compared[@]}"
