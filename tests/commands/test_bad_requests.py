"""Invalid requests end in a one-line error and leave no files."""

from __future__ import annotations

import pytest

from cases import Case, left_over
from forks import run_here

PAIRS = "--pairs {pairs} --output out"
TEXT = "--text {sample}/text.txt"
PARAPHRASE = "paraphrase --input {sample}/text.txt --models"
DISTILL = "distill --teacher {avg} --text {sample}/text.txt"
TUNE = "tune --dev-data {graded} --data {judged} --output out"
REQUESTS = {
    # Near names.
    "train_nmt_": "unknown command `train_nmt_` (did you mean train-nmt?",
    "encode --model buildin --input blank --output out.npy": "did you mean builtin?",
    f"score --measures lenght {PAIRS}": "did you mean length?",
    # Reports.
    f"analyze gates --model {{avg}} {TEXT} --output out": "a model of type `avg` does not give gates",
    f"analyze gates --model {{gran}} {TEXT} --tagged blank --output out": "give either --text or --tagged",
    "analyze gates --model {gran} --text blank --output out": "the file contains no words",
    f"analyze neighbours --model {{avg}} {TEXT} --output out": "give --query or --queries",
    f"analyze neighbours --model {{avg}} {{avg}} {TEXT} --query the --output out": "a model is given twice",
    f"analyze neighbours --model {{avg}} {TEXT} --query unheard --output out": "in the encoders' vocabularies",
    f"analyze similarities --model {{avg}} {TEXT} --query unheard --output out": "cannot compare",
    "evaluate --data {sample}/pairs.csv --baseline words": "not recognised",
    "evaluate --data absent --baseline words": "no such file or folder",
    "evaluate --data {sts} --suite sts --split train --baseline words": "--split is for --suite",
    "evaluate --data {sts} --suite sts --seeds 3 --baseline words": "--seeds is for --suite paraphrase",
    "evaluate --data {graded} --baseline words --update-card": "--update-card is for --model",
    "evaluate --data {graded} --model multilingual --update-card": "a folder of that name is ./multilingual",
    "evaluate --data {graded} --model {avg} absent --output out": "no such model folder",
    "evaluate --data {graded} --model x={avg} x={gran}": "another name for each model",
    "evaluate-mining --task {sample}/de-en --encoder {avg} --output out": "no such file of known pairs",
    "export --model {gran} --format safetensors --weights int8 --output out": "int4 are for avg and concatenation",
    "export --model {avg} --format safetensors --sentences nowhere.txt --output out": "nowhere.txt: no such file",
    "export --model {translator} --output out": "`rnn_search` is not a sentence encoder",
    # Data.
    "prepare": "no kind of data given",
    "prepare cake": "unknown kind `cake`",
    "filter --keep length>>3 --pairs {bt} --output out": "cannot parse `length>>3`",
    "filter --keep lenght<3 --pairs {bt} --output out": "there is no column lenght (did you mean length? One of",
    "filter --keep length>1000 --pairs {bt} --output out": "nothing is left after `length>1000`",
    f"filter --first 1 --negatives 1 {PAIRS}": "--negatives: too few distinct sentences",
    f"filter --first 3 --noise 0.3 {PAIRS}": "--noise 0.3 of 3 pairs is 1, and at least two pairs exchange",
    f"filter --explain out {PAIRS}": "--explain",
    "filter --noise 0.5 --pairs {bitext} --output out": "not for bitext",
    "score --hold-out 1 --pairs {bitext} --output out": "not for bitext",
    "score --hold-out 999 --pairs {bt} --output out": "references, and 999 are to be held out",
    f"score --language-model-text blank {PAIRS}": "no words (give sentences with words, one per line)",
    f"score --measures perplexity {PAIRS}": "perplexity needs --language-model (give it",
    f"score --measures cost {PAIRS}": "cost needs the missing columns log_prob, num_tokens",
    f"score --encoder absent {PAIRS}": "absent",
    f"expand {TEXT} --wordnet . --output out": "WordNet lacks index.noun",
    "mine --source a.txt.gz --target b.txt.gz --encoder {avg} --tune-on dev --output out": "both are `.txt.gz`",
    f"{TUNE} --pairs {{pairs}} --keep length>700": "the grid selects nothing",
    f"{TUNE} --pairs {{pairs}} --keep length>0 --seeds 0 1 0": "--seeds names a seed twice",
    "mine --source a.txt.gz --target a.txt.gz --encoder {avg} --output out": "--source and --target are the same file",
    f"{TUNE} --pairs toy=a toy=b": "--pairs `toy=b` needs a folder and a unique name (give NAME=DIR)",
    "prepare comparable --bitext {bitext} --sentences 9999 --output out": "groups of translations, and 94 are left",
    # Engines and parts.
    f"score --shard 5/4 {PAIRS}": "--shard 5/4 is not a part of the work (e.g. 3/64 for the third of 64)",
    f"score --shard 2/9999 {PAIRS}": "--shard 2/9999: the job has only 1 shards (use fewer parts,",
    f"score --shard 2/4 --overwrite {PAIRS}": "--overwrite",
    f"score --ray-cpus 2 {PAIRS}": "--ray-cpus is for --engine ray",
    f"score --engine ray --workers 2 {PAIRS}": "--workers is for --engine local",
    "encode --input {sample}/text.txt --engine ray --output out": "--engine ray is for data folders (give --columns",
    "encode --input {sample}/text.txt --shard 1/2 --output out": "--shard is for data folders (give --columns",
    "encode --input {pairs} --columns sentence1 --engine ray --device cuda:1 --output out": "(--device cpu or cuda)",
    # Search.
    "search": "give either --corpus or --index",
    "search --model {avg} --corpus blank": "name the folder to make",
    "search --index absent --mine --output out": "no such index folder",
    "search --corpus blank --output out --add blank": "--add is for --index",
    "search --corpus blank --output out --snippets": "--hybrid, --reranker, --snippets, --prompt are for queries",
    "search --index absent --remove blank --method exact": "--method and --remove exclude each other",
    "search --index {index} --remove-id 1": "the index has no column 'id'",
    # Training.
    "quickstart --num-beams 3 --output out": "--num-beams must be at least 4, not 3",
    "train-tokenizer --output out": "no text",
    "train-tokenizer --text blank --output out": "blank: the vocabulary has no words",
    "train-tokenizer --text blank --kind bpe --output out": "blank: no text to learn pieces from",
    f"train-tokenizer {TEXT} --kind bpe --vocab-size 4 --output out": "4 tokens are too few",
    f"train-tokenizer {TEXT} --kind unigram --vocab-size 4 --output out": "4 tokens are too few",
    f"train-tokenizer {TEXT} --kind morfessor --min-frequency 999 --output out": "no word occurs 999 times",
    f"train-tokenizer {TEXT} --kind bpe --treebank-words --output out": "--treebank-words",
    f"train-encoder --model-type gran --initial-distribution uniform {PAIRS}": "--initial-distribution is not for",
    f"train-encoder --loss contrastive {PAIRS}": "no column `label`",
    f"train-encoder --initial-model {{avg}} --dropout 0.1 --word-dropout 0.1 {PAIRS}": "exclude each other",
    f"train-encoder --initial-model {{avg}} --cell gru {PAIRS}": "--initial-model and --cell exclude each other",
    f"train-encoder --initial-model {{avg}} --variational-dropout 0.1 {PAIRS}": "is not for a model of type `avg`",
    f"train-encoder --initial-model {{onnx}} {PAIRS}": "an ONNX export cannot be trained",
    "train-supervised --model {onnx} --data {labelled} --output out": "a model of this kind cannot be trained",
    "train-supervised --data {labelled} --from-scratch --lambda-c 1 --output out": "nothing pretrained to stay close",
    "evaluate-mining --task {sample}/fr-en --scoring-encoder x/filter --output out": "the name of another row",
    "search --index {index} --query a --method approximate": "built for the method exact",
    "distill --teacher {avg} --bitext {bitext} --teacher-lang fi --output out": "neither in the teachers' language fi",
    f"{DISTILL} --initial-model {{word_trigram}} --min-frequency 3 --output out": "exclude each other",
    f"{DISTILL} --initial-model {{avg}} --matryoshka 9 --output out": "is more than the 8 components",
    "distill --teacher {avg} --multilingual-teacher {gran} --multilingual-text blank --output o": "--teacher DIR",
    "train-parallel-classifier --bitext {bitext} --initial-vectors {vectors} --embedding-size 9 --output o": "8 comp",
    "join --model {avg} --output out": "fewer than two models",
    "join --model {avg} {other_avg} --weights 1 --output out": "1 weights for 2 models",
    "join --model {avg} {other_avg} --text blank --output out": "need each other",
    "join --model {avg} weighted-trigrams --output out": "need each other",
    "join --model {avg} {gran} --output out": "GranModel is not an average of one table",
    "distill --teacher {avg} --bitext {bitext} --columns source --output out": "--columns is for --text",
    f"train-encoder --model-type recurrent --bidirectional true --hidden-size 7 {PAIRS}": "hidden_size must be even",
    f"train-encoder --model-type trigram --word-list blank {PAIRS}": "--word-list is for words",
    f"train-encoder --min-frequency 1000000 {PAIRS}": "the vocabulary has no words",
    "train-encoder --pairs {sample}/fr-en.test.en --output out": "missing columns sentence1, sentence2 (the columns",
    "train-encoder --pairs none.jsonl --output out": "none.jsonl: the file is empty",
    f"{PARAPHRASE} {{translator}} --output out": "a single model makes a round trip only if it is multilingual",
    f"{PARAPHRASE} {{translator}} {{reverse}} {{translator}} --output out": "3 models and 0 pivots do not form round",
    f"{PARAPHRASE} {{translator}} {{reverse}} --pivots fr de --output out": "2 models and 2 pivots do not form round",
    "train-nmt --bitext {pairs} --output out": "missing columns source, target",
    "train-nmt --bitext {bitext} {turned} --output out": "this bitext is en→",
    "train-nmt --bitext {turned} --initial-model {translator} --output out": "`en` (give a model for `en`, or",
    "train-nmt --bitext {bitext} --initial-model {translator} --architecture transformer --output o": "makes a new",
    "back-translate --model {translator} --bitext {turned} --output out": "the source is en, but the model",
    "evaluate-nmt --model {translator} --bitext {turned} --split train --output out": "the source is en, but",
    "lexical-table --model {translator} --bitext {turned} --output out": "the source is en, but the model",
}


@pytest.mark.parametrize("line", REQUESTS)
def test_what_does_not_fit_is_one_line_and_leaves_nothing(line, artefacts, tmp_path):
    (tmp_path / "none.jsonl").touch()
    names = {"blank", "a.txt.gz", "b.txt.gz"}
    for name in names:
        (tmp_path / name).write_text(" \n\n")
    case = Case("", line, writes=False)
    ended = run_here(case.words(artefacts.paths(case)), tmp_path)
    assert ended.code == 2 and len(ended.errors) == 1 and ended.stdout == "" and not ended.has_traceback, ended
    assert REQUESTS[line] in ended.errors[0] and set(left_over(tmp_path)) == names
