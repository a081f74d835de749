#!/usr/bin/env bash
# About five hours on one core, reckoned: 3 h 5 min to train the models (docs/studies/translation.md), and 1 h 40 min for
# 72,000 sentences with a beam of 10 by the rate of docs/guide/costs.md; LANGUAGES shares them out over two cores.
# French, German and Czech into English: a model of image captions and one of captions, Tatoeba and LibreOffice's help
# mixed, for each language; BLEU on every test set, and n-best lists of translations of the mixed bitext.
# Usage: bash scripts/studies/translation.sh DATA WORK
#   DATA  holds multi30k/ manythings/ libreoffice_help/ sts/ sick/ stsbenchmark/ pit2015/ and held_out.sha256-16.txt.gz
#   WORK  is a folder for everything that is made; existing outputs are reused
# From the environment: LANGUAGES (default "fr de cs"); SENTENCES, how many captions, Tatoeba sentences and paragraphs of
# help each are translated back (default 8000); BEAM, of the search for them (default 10, as many are kept); MODELS, those
# to train and judge (default "captions mixed"; the mixed one translates back); SIZE of the mixed one (default full; small:
# 256 units, a word list of 6,000 and fewer epochs, in half an hour a language).
. "$(dirname "$0")/common.sh"
languages=${LANGUAGES:-fr de cs} sentences=${SENTENCES:-8000} beam=${BEAM:-10} models=${MODELS:-captions mixed}
avoid+=("${captions[@]}")
declare -A tatoeba=([fr]=fra [de]=deu [cs]=ces)
# The small Tatoeba set of Czech counts twice; captions count twice everywhere.
declare -A mixed=([fr]="multi30k multi30k tatoeba help" [de]="multi30k multi30k tatoeba help"
  [cs]="multi30k multi30k tatoeba tatoeba help")
declare -A epochs=([fr]=1.2 [de]=1.2 [cs]=2)
case ${SIZE:-full} in
  full) size=() ;;
  small)
    epochs=([fr]=0.8 [de]=0.8 [cs]=1.5)
    size=(--vocabulary-size 6000 --hidden-size 256 --embedding-size 192 --dropout 0.1 --learning-rate 3e-3
      --batch-size 128)
    ;;
  *) echo "SIZE must be full or small, not $SIZE" >&2; exit 2 ;;
esac

for language in $languages; do
  at="$WORK/$language"
  mkdir -p "$at"

  # 1. Bitext; of Tatoeba and the help no English sentence is in two parts.
  done_already "$at/multi30k" || hf-paraphrase prepare bitext --source-lang "$language" --target-lang en \
    --source-file "$DATA/multi30k/train.$language.gz" --target-file "$DATA/multi30k/train.en.gz" \
    --validation-source-file "$DATA/multi30k/val.$language.gz" --validation-target-file "$DATA/multi30k/val.en.gz" \
    --test-source-file "$DATA/multi30k/test_2016_flickr.$language.gz" \
    --test-target-file "$DATA/multi30k/test_2016_flickr.en.gz" "${avoid[@]}" --output "$at/multi30k"
  name=${tatoeba[$language]}
  done_already "$at/tatoeba" || hf-paraphrase prepare bitext --source-lang "$language" --target-lang en \
    --tsv "$DATA/manythings/$name-eng/$name.txt.gz" --columns target,source,_ --shuffle --license cc-by-2.0 \
    --validation-size 500 --test-size 1000 "${avoid[@]}" --output "$at/tatoeba"
  done_already "$at/help" || hf-paraphrase prepare bitext --source-lang "$language" --target-lang en \
    --tsv "$DATA/libreoffice_help/lo-help-7.4.7.$language-en.tsv.gz" --shuffle --max-length 100 --on-error skip \
    --license mpl-2.0 --validation-size 500 --test-size 1000 "${avoid[@]}" --output "$at/help"
  judged=("multi30k test" "tatoeba test" "help test")
  # News of another kind than all that is trained on; its text is tokenised already.
  if [ "$language" = cs ] && [ -e "$DATA/wmt/newstest2013.cs" ]; then
    done_already "$at/newstest2013" || hf-paraphrase prepare bitext --source-lang cs --target-lang en \
      --source-file "$DATA/wmt/newstest2013.cs" --target-file "$DATA/wmt/newstest2013.en" --output "$at/newstest2013"
    judged+=("newstest2013 train")
  fi

  # 2. The models, and BLEU on every test set, which goes into their cards.
  case " $models " in *" captions "*)
    done_already "$at/captions_nmt" || hf-paraphrase train-nmt --bitext "$at/multi30k" --output "$at/captions_nmt" \
      --epochs 8 --evaluations 4 --warmup-steps 200 --max-dev-pairs 500 --resume
    ;;
  esac
  bitexts=()
  for part in ${mixed[$language]}; do bitexts+=("$at/$part"); done
  done_already "$at/mixed_nmt" || hf-paraphrase train-nmt --bitext "${bitexts[@]}" --output "$at/mixed_nmt" \
    --epochs "${epochs[$language]}" --evaluations 3 --warmup-steps 200 --max-dev-pairs 500 ${size[@]+"${size[@]}"} --resume
  for model in $models; do
    for part in "${judged[@]}"; do
      read -r name split <<<"$part"
      grep -q "^| $name, $split" "$at/${model}_nmt/README.md" || hf-paraphrase evaluate-nmt \
        --model "$at/${model}_nmt" --bitext "$at/$name" --split "$split" --num-beams 5 --update-card
    done
  done

  # 3. Back-translations with their n-best lists, of each part and of all together.
  for part in multi30k tatoeba help; do
    done_already "$at/${part}_back" || hf-paraphrase back-translate --model "$at/mixed_nmt" --bitext "$at/$part" \
      --num-beams "$beam" --num-return-sequences "$beam" --max-sentences "$sentences" --output "$at/${part}_back" --resume
  done
  done_already "$at/back" || make_data joined --pairs \
     "$at/multi30k_back" "$at/tatoeba_back" "$at/help_back" --output "$at/back"
done
for language in $languages; do
  for model in $models; do
    printf '\n%s → en, %s\n\n' "$language" "$model"
    sed -n '/^| bitext /,/^$/p' "$WORK/$language/${model}_nmt/README.md"
  done
done
