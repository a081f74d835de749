"""`train-encoder`: where initial vectors, vocabulary and frequencies come from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from documented_blocks import blocks
from huggingface_hub import ModelCard
from safetensors.numpy import load_file
from small_runs import lettered, number_pairs, record, write, write_bitext
from tiny_teachers import write_teacher
from transformers import AutoModel, AutoTokenizer

import hf_paraphrase
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    first, second = [*lettered("a", 0, 120), ""], [*lettered("b", 0, 120), "b1"]
    return write(tmp_path_factory.mktemp("data") / "pairs", sentence1=first, sentence2=second)


@pytest.fixture(scope="module")
def dev(tmp_path_factory):
    sides = {"sentence1": lettered("a", 1, 40) * 2, "sentence2": [*lettered("b", 1, 40), *lettered("b", 2, 40)]}
    return write(tmp_path_factory.mktemp("data") / "dev", "validation", **sides, score=[5.0] * 40 + [0.0] * 40)


def run(pairs, output, *flags):
    return main(["train-encoder", "--pairs", str(pairs), "--output", str(output), *map(str, flags)])


FAST = ("--epochs", 3, "--batch-size", 20, "--learning-rate", 0.02, "--hidden-size", 8, "--seed", 1)
KINDS = [("gran", "--cell", "gru", "--bidirectional", "true", "--variational-dropout", 0.1), ("word-trigram",)]


@pytest.mark.parametrize("kind", KINDS)
def test_leaves_a_complete_folder_with_scores_card_and_provenance(pairs, dev, tmp_path, capsys, kind):
    output = tmp_path / "model"
    assert run(pairs, output, "--model-type", *kind, "--dev-data", dev, *FAST) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "untrained: dev score" in captured.err and "1 pairs with an empty sentence left out" in captured.err
    assert "kept: epoch " in captured.err and "SentenceEncoder.from_pretrained" in captured.err

    made = record(output)
    scores = made["results"]["dev_scores"]
    assert [entry["epoch"] for entry in scores] == [0, 1, 2, 3]
    assert made["results"]["dev_best"] == max(entry["dev_mean"] for entry in scores[1:]) > scores[0]["dev_mean"] + 5
    assert made["results"]["pairs"] == 120 and made["settings"]["margin"] == 0.4 and made["seed"] == 1

    encoder = SentenceEncoder.from_pretrained(output)
    ids = AutoTokenizer.from_pretrained(output)(["a1 a2 zzz"], return_tensors="pt")
    vector = AutoModel.from_pretrained(output)(**ids).pooler_output.detach().numpy()
    np.testing.assert_allclose(vector[0], encoder.encode("a1 a2 zzz"), atol=1e-6)
    assert f"{made['results']['dev_best']:.2f} (kept)" in (output / "README.md").read_text()
    model_type = {"trigram": "avg", "word-trigram": "concatenation"}.get(kind[0], kind[0])
    assert {f"modeling_{model_type}.py", "modules.json"} <= {path.name for path in output.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_no_epochs_keep_the_initial_vectors_and_report_their_dev_score(pairs, dev, tmp_path, capsys):
    output, vectors, generator = tmp_path / "untrained", tmp_path / "vectors.txt", np.random.default_rng(0)
    words = [*(f"a{x}" for x in range(30)), *(f"b{x}" for x in range(25)), "elsewhere", "Cased"]
    vectors.write_text("".join(f"{word} {' '.join(f'{x:.4f}' for x in generator.normal(size=6))}\n" for word in words))
    assert run(pairs, output, "--epochs", 0, "--initial-vectors", vectors, "--dev-data", dev, "--seed", 1) == 0
    assert "56 of 61 words have a vector" in capsys.readouterr().err
    vocabulary = AutoTokenizer.from_pretrained(output).get_vocab()
    embeddings = load_file(output / "model.safetensors")["embeddings"]
    assert embeddings.shape == (63, 6) and "Cased" not in vocabulary
    lines = dict(line.split(" ", 1) for line in vectors.read_text().splitlines())
    for word in ("a3", "b7", "elsewhere"):
        np.testing.assert_allclose(embeddings[vocabulary[word]], np.array(lines[word].split(), float), atol=1e-5)
    results = record(output)["results"]
    assert results["steps"] == 0 and results["dev_best"] is None and np.isfinite(results["dev_untrained"])
    card = (output / "README.md").read_text()
    assert "| training | none: 0 epochs |" in card and "margin loss" not in card


def test_labelled_pairs_train_with_the_contrastive_loss_and_its_own_margin(tmp_path, dev, capsys):
    first, second = lettered("a", 0, 60), lettered("b", 0, 60)
    sides = {"sentence1": first * 2, "sentence2": [*second, *second[7:], *second[:7]]}
    folder = write(tmp_path / "pairs", **sides, label=[1] * 60 + [0] * 60)
    flags = (*FAST, "--dev-data", dev, "--loss", "contrastive", "--epochs", 6)
    assert run(folder, tmp_path / "m", *flags) == 0
    made = record(tmp_path / "m")
    assert made["results"]["pairs"] == 120 and made["settings"]["margin"] == 0.5
    assert made["results"]["dev_best"] > made["results"]["dev_untrained"] + 5
    card = (tmp_path / "m" / "README.md").read_text()
    assert "contrastive margin loss on labelled pairs (Sjöblom" in card and "| negatives |" not in card
    assert run(folder, tmp_path / "margin", *FAST) == 0
    assert "60 pairs labelled 0 (no paraphrases) left out" in capsys.readouterr().err


def test_an_encoder_of_two_languages_is_trained_on_a_bitext_and_chosen_by_retrieval(tmp_path, capsys):
    folder = write_bitext(tmp_path / "bitext", train=number_pairs(80, 100), validation=number_pairs(12, 20))
    bpe = {"kind": "bpe", "pairs": folder, "vocab_size": 80, "output": tmp_path / "bpe"}
    hf_paraphrase.train_tokenizer(**bpe)
    words = [*FAST, "--tokenizer", tmp_path / "bpe", "--negatives-from", "opposite", "--dev-data"]
    assert run(folder, tmp_path / "joint", *words, folder) == 0
    made = record(tmp_path / "joint")
    scores = made["results"]["dev_scores"]
    assert {"source_to_target", "target_to_source"} <= set(scores[0])
    assert made["results"]["dev_best"] > made["results"]["dev_untrained"]
    card = (tmp_path / "joint" / "README.md").read_text()
    assert "the pairs are sentences and their translations" in card and "Finding translations" in card
    assert "precision at 1 (%" in card and "Pearson" not in card
    assert run(folder, tmp_path / "x", *words, write_bitext(tmp_path / "b", train=[("a", "b")])) == 2
    assert "a split `validation` to tune on" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "epochs"), [("avg", 0), ("int8", 0), ("word_trigram", 0), ("gran", 1)])
def test_without_an_epoch_it_is_the_same_and_with_one_another_encoder(artefacts, pairs, tmp_path, kind, epochs):
    # Other words than the first ones: the vocabulary stays.
    start, output, texts = artefacts[kind], tmp_path / "after", ["The dog is there.", "a1", "", "He has a zebra ."]
    flags = ["--initial-model", start, "--epochs", epochs, "--learning-rate", 0.02]
    assert run(pairs if epochs == 0 else artefacts["pairs"], output, *flags) == 0
    before, after = (SentenceEncoder.from_pretrained(folder).encode(texts) for folder in (start, output))
    assert before.any() and (np.abs(after - before).max() > 1e-3) == bool(epochs)
    assert epochs or (before == after).all()
    tokenizer = "tokenizers.json" if kind == "word_trigram" else "tokenizer.json"
    assert (output / tokenizer).read_bytes() == (start / tokenizer).read_bytes()
    assert load_file(output / "model.safetensors")["embeddings"].dtype == np.float32
    config, first = (json.loads((folder / "config.json").read_text()) for folder in (output, start))
    assert config == first or kind == "int8"
    made = record(output)
    assert made["settings"]["model_type"] == {"int8": "avg"}.get(kind, kind.replace("_", "-"))
    assert fingerprint(start) in [item["sha256"] for item in made["inputs"]]
    card = (output / "README.md").read_text()
    assert f"| initial model | {kind}: its tokenizer and all its weights |" in card and "initial word" not in card


def test_the_result_has_the_licence_and_base_of_its_start_unless_a_licence_is_given(artefacts, tmp_path):
    start = shutil.copytree(artefacts["avg"], tmp_path / "start")
    (start / "README.md").write_text("---\nlicense: cc-by-sa-4.0\nbase_model: org/base\n---\n")
    given = {"cc-by-sa-4.0": ["--initial-vectors"], "mit": ["--license", "mit", "--initial-model"]}
    for licence, flags in given.items():
        assert run(artefacts["pairs"], tmp_path / licence, "--epochs", 0, *flags, start) == 0
        head = ModelCard.load(tmp_path / licence / "README.md").data
        assert (head.license, head.base_model) == (licence, "org/base")


# ----- where initial vectors, vocabulary and frequencies come from


@pytest.fixture(scope="module")
def few_words(tmp_path_factory):
    sides = [[f"{side}{number % 7} {side}{number % 11} common" for number in range(40)] for side in "ab"]
    return write(tmp_path_factory.mktemp("data") / "pairs", sentence1=sides[0], sentence2=sides[1])


def table_of(folder):
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    table = load_file(folder / "model.safetensors")["embeddings"]
    return {word: table[row] for word, row in vocabulary.items()}, table


def test_a_distilled_start_holds_the_projected_vectors_of_all_words(few_words, tmp_path, capsys):
    words = [f"{letter}{number}" for letter in "ab" for number in range(11)]
    teacher = write_teacher(tmp_path / "teacher", size=12, words=[*words, "common", "extra"])
    (tmp_path / "words").write_text("extra\nCased\n")
    flags = ("--initial-vectors", teacher, "--hidden-size", 5, "--word-list", tmp_path / "words")
    assert run(few_words, tmp_path / "m", "--epochs", 0, *flags) == 0
    assert "24 of 24 words have a vector, 100.0 % of the tokens" in capsys.readouterr().err
    rows, table = table_of(tmp_path / "m")
    words = [word for word in rows if not word.startswith("[")]
    assert "extra" in words and "Cased" not in words and table.shape == (26, 5)
    words.sort(key=lambda word: list(rows).index(word))
    encoded = SentenceEncoder.from_pretrained(teacher).encode(words).astype(np.float64)
    left, values, _ = np.linalg.svd(encoded - encoded.mean(0), full_matrices=False)
    expected = np.abs(left * values)[:, :5]
    np.testing.assert_allclose(np.abs([rows[word] for word in words]), expected, atol=1e-4)
    made = record(tmp_path / "m")
    assert [item["name"] for item in made["inputs"]][1:] == ["words", teacher.name]
    assert f"{teacher.name} (24 of 24 words" in (tmp_path / "m" / "README.md").read_text()


def test_an_encoder_over_pieces_is_trained_and_can_be_started_from(few_words, tmp_path, capsys):
    tokenizer, flags = tmp_path / "tokenizer", ("--kind", "bpe", "--vocab-size", "40")
    assert main(["train-tokenizer", "--pairs", str(few_words), "--output", str(tokenizer), *flags]) == 0
    trained = ("--tokenizer", tokenizer, "--hidden-size", 4, "--epochs", 1, "--batch-size", 8)
    assert run(few_words, tmp_path / "m", *trained) == 0
    ids = AutoTokenizer.from_pretrained(tokenizer)("a1 b2 common")["input_ids"]
    table = table_of(tmp_path / "m")[1]
    encoder = SentenceEncoder.from_pretrained(tmp_path / "m")
    np.testing.assert_allclose(encoder.encode("a1 b2 common"), table[ids].mean(0), atol=1e-6)
    capsys.readouterr()
    flags = ["--epochs", 0, "--initial-vectors", tmp_path / "m"]
    assert run(few_words, tmp_path / "n", *flags, "--tokenizer", tokenizer) == 0
    assert "100.0 % of the tokens" in capsys.readouterr().err
    np.testing.assert_array_equal(table_of(tmp_path / "n")[1][1:], table[1:])
    assert run(few_words, tmp_path / "words", *flags) == 0
    np.testing.assert_allclose(table_of(tmp_path / "words")[0]["a1"], encoder.encode("a1"), atol=1e-6)


OWN = dict(blocks((Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text("utf-8")))["python"]
OWN += """
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling
from hf_paraphrase.registry import ENCODERS

class ToyConfig(PreTrainedConfig):
    model_type = "toy"

    def __init__(self, vocab_size=2, hidden_size=4, **settings):
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        super().__init__(**settings)

@ENCODERS.register("toy")
class ToyModel(PreTrainedModel):
    config_class = ToyConfig

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = torch.nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, ToyModel):
            torch.nn.init.normal_(module.embeddings)

    def forward(self, input_ids, attention_mask):
        tokens = self.embeddings[input_ids] * attention_mask[..., None]
        return BaseModelOutputWithPooling(last_hidden_state=tokens, pooler_output=tokens.sum(1))
"""


SCRIPT = """
import json, sys
from hf_paraphrase.commands import main

for words in json.loads(sys.argv[1]):
    sys.stderr.write(f"exit code {main(words)}\\n")
main(["--import", "my_encoders.py", "train-encoder", "--help"])
"""


def test_an_encoder_and_a_loss_from_a_file_are_trained_and_put_to_use(pairs, tmp_path, run_python):
    folder, train = tmp_path, ("train-encoder", "--pairs", str(pairs), "--output")
    (folder / "my_encoders.py").write_text(OWN)
    (folder / "text.txt").write_text("a1 a2\nb3\n")
    own = ("--model-type", "toy", "--loss", "in-batch", "--hidden-size", "6")
    runs = (
        ("--import", "my_encoders.py", *train, "model", *own, "--epochs", "2"),
        ("encode", "--model", "model", "--input", "text.txt", "--output", "v.npy"),
        (*train, "other", "--loss", "in-batch", "--negatives-from", "opposite"),
        (*train, "other", "--loss", "in-batch", "--margin", "1"),
    )
    done = run_python(SCRIPT, json.dumps(runs), folder=folder)
    codes = [line.rpartition(" ")[2] for line in done.stderr.splitlines() if line.startswith("exit code")]
    assert codes == ["0", "0", "2", "2"], done.stderr
    assert (folder / "model" / "my_encoders.py").read_text() == OWN
    assert "| loss | InBatchLoss |" in (folder / "model" / "README.md").read_text()
    vectors = np.load(folder / "v.npy")
    assert vectors.shape == (2, 6) and np.isfinite(vectors).all() and vectors.any(1).all()
    with pytest.raises(ModelError, match="type `toy` needs the code that it brings"):
        SentenceEncoder.from_pretrained(folder / "model")
    # Somebody else has its code from the folder alone.
    model = AutoModel.from_pretrained(folder / "model", trust_remote_code=True)
    ids = AutoTokenizer.from_pretrained(folder / "model")(["a1 a2", "b3"], padding=True, return_tensors="pt")
    found = model(ids["input_ids"], ids["attention_mask"]).pooler_output.detach().numpy()
    np.testing.assert_allclose(found, vectors, atol=1e-6)
    assert "--negatives-from is not for --loss in-batch" in done.stderr
    assert "--margin is not for --loss in-batch" in done.stderr
    assert "word-trigram,toy" in done.stdout and "contrastive,in-batch" in done.stdout
