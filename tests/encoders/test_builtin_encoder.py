from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors import safe_open
from tiny_encoders import write_average

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.initial_vectors import kind_of_source
from hf_paraphrase.errors import ModelError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

LARGEST_BYTES = 12_000_000
TEXTS = ["w1 w2", "w3", "", "w2 w1 w4"]


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A little encoder in int8, as the one that is installed is, and the model that it was made from."""
    root = tmp_path_factory.mktemp("encoders")
    words = build_word_level_tokenizer(f"w{number}" for number in range(10))
    AvgModel(AvgConfig(vocab_size=12, hidden_size=5, initializer_range=0.5)).save_pretrained(root / "avg")
    save_tokenizer(words, root / "avg")
    hf_paraphrase.export_encoder(model=root / "avg", output=root / "int8", format="safetensors", weights="int8")
    return root / "int8"


@pytest.fixture
def builtin(stand_in, tmp_path, monkeypatch):
    """The stand-in in the place of the built-in encoder, with the current folder an empty one."""
    monkeypatch.setattr(hub_models, "BUILTIN_FOLDER", stand_in)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return stand_in


@pytest.fixture
def absent(tmp_path, monkeypatch):
    monkeypatch.setattr(hub_models, "BUILTIN_FOLDER", tmp_path / "absent")
    monkeypatch.chdir(tmp_path)


def write(path, texts):
    path.write_text("\n".join(texts) + "\n")
    return str(path)


def test_without_a_folder_the_builtin_encoder_opens(builtin):
    expected = SentenceEncoder.from_pretrained(builtin).encode(TEXTS)
    for encoder in (SentenceEncoder.from_pretrained(), SentenceEncoder.from_pretrained("builtin")):
        np.testing.assert_array_equal(encoder.encode(TEXTS), expected)


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file"])
def test_what_is_called_builtin_in_the_working_directory_does_not_take_its_place(builtin, tmp_path, kind):
    other = tmp_path / "here" / "builtin"
    if kind == "folder":
        write_average(other, ["w1", "w2"], hidden_size=3)
    elif kind == "empty folder":
        other.mkdir()
    else:
        other.write_text("w1 w2\n")
    expected = SentenceEncoder.from_pretrained(builtin).encode(TEXTS)
    for name in ((), ("builtin",)):
        np.testing.assert_array_equal(SentenceEncoder.from_pretrained(*name).encode(TEXTS), expected)
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained("builtin").encode(TEXTS), expected)
    assert kind_of_source("builtin") == "saved model"
    source = write(tmp_path / "text", TEXTS)
    assert main(["encode", "--input", source, "--output", "vectors.npy"]) == 0
    np.testing.assert_array_equal(np.load("vectors.npy"), expected)
    assert main(["search", "--corpus", source, "--output", "index"]) == 0
    record = json.loads((tmp_path / "here" / "index" / "provenance.json").read_text())
    assert record["inputs"][0]["name"] == "builtin" and record["inputs"][0]["sha256"] == fingerprint(builtin)


def test_a_folder_called_builtin_is_named_by_a_path(builtin, tmp_path):
    write_average(tmp_path / "here" / "builtin", ["w1", "w2"], hidden_size=3)
    for name in ("./builtin", Path("builtin"), str(tmp_path / "here" / "builtin")):
        assert SentenceEncoder.from_pretrained(name).dimension == 3


@pytest.mark.parametrize(
    "words",
    [
        ["encode", "--input", "text"],
        ["search", "--corpus", "text", "--query", "w1"],
        ["search", "--corpus", "text", "--output", "index"],
        ["export", "--model", "builtin", "--output", "x"],
    ],
)
def test_where_it_was_not_installed_a_line_reports_it(absent, tmp_path, capsys, words):
    write(tmp_path / "text", TEXTS)
    assert main(words) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[-1].startswith("hf-paraphrase: error: builtin: this installation has no built-in encoder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


def test_from_python_too(absent):
    with pytest.raises(ModelError, match="no built-in encoder"):
        SentenceEncoder.from_pretrained()


def test_encode_needs_nothing_but_the_text(builtin, tmp_path, capsys):
    source = write(tmp_path / "text.txt", TEXTS)
    assert main(["encode", "--input", source]) == 0
    expected = SentenceEncoder.from_pretrained(builtin).encode(TEXTS)
    np.testing.assert_array_equal(np.load(tmp_path / "text.txt.npy"), expected)
    assert main(["encode", "--input", source]) == 2 and "the output file exists" in capsys.readouterr().err
    assert main(["encode", "--input", "-"]) == 2 and "give --output" in capsys.readouterr().err


def test_search_takes_it_for_a_corpus_and_the_index_records_it(builtin, tmp_path, capsys):
    source = write(tmp_path / "text", TEXTS)
    assert main(["search", "--corpus", source, "--query", "w3"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[-1] == "w3"
    assert main(["search", "--corpus", source, "--output", "index"]) == 0
    record = json.loads((tmp_path / "here" / "index" / "provenance.json").read_text())
    assert record["settings"]["model"] == "builtin"
    assert record["inputs"][0]["name"] == "builtin" and record["inputs"][0]["sha256"] == fingerprint(builtin)
    assert main(["search", "--index", "index", "--query", "w3"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[-1] == "w3"


@pytest.mark.parametrize("words", [["--encoder"], ["--encoder", "builtin"]])
def test_score_takes_it_where_the_encoder_has_no_other_name(builtin, tmp_path, words):
    pairs = pa.Table.from_pydict({"sentence1": ["w1", "w2 w3"], "sentence2": ["w2", "w2"]}, schema=PAIRS)
    write_split(tmp_path / "pairs", "train", [pairs], PAIRS)
    flags = ["--measures", "similarity", *words]
    assert main(["score", *flags, "--pairs", str(tmp_path / "pairs"), "--output", "scored"]) == 0
    record = json.loads((tmp_path / "here" / "scored" / "provenance.json").read_text())
    assert record["settings"]["encoder"] == "builtin"
    found = next(item for item in record["inputs"] if item["name"] == "builtin")
    assert found["sha256"] == fingerprint(builtin)


def test_evaluate_takes_it_where_nothing_is_named(builtin, tmp_path):
    columns = {"sentence1": ["w1", "w2", "w3 w4"], "sentence2": ["w2", "w2", "w5"], "score": [1.0, 5.0, 2.0]}
    table = pa.Table.from_pydict(columns)
    write_split(tmp_path / "graded", "test", [table], table.schema)
    found = hf_paraphrase.evaluate(data=tmp_path / "graded", suite="graded")
    assert [(item.name, item.kind) for item in found.scores] == [("builtin", "model")]
    assert found.record["results"][0]["sha256"] == fingerprint(builtin)
    baselines = hf_paraphrase.evaluate(data=tmp_path / "graded", suite="graded", baseline=["words"])
    assert [item.name for item in baselines.scores] == ["words"]


def test_export_makes_an_ordinary_folder_of_it(builtin):
    assert main(["export", "--model", "builtin", "--format", "safetensors", "--output", "mine"]) == 0
    np.testing.assert_array_equal(
        SentenceEncoder.from_pretrained("mine").encode(TEXTS), SentenceEncoder.from_pretrained().encode(TEXTS)
    )


# ----- the encoder that is really there


@pytest.fixture
def installed():
    if not hub_models.BUILTIN_FOLDER.is_dir():
        pytest.skip("there is no built-in encoder yet")
    return hub_models.BUILTIN_FOLDER


def test_the_builtin_encoder_is_small_whole_and_says_where_it_comes_from(installed, tmp_path):
    names = {path.name for path in installed.iterdir()}
    wanted = {"config.json", "model.safetensors", "tokenizers.json", "tokenizer_config.json"}
    assert wanted | {"README.md", "provenance.json", "LICENSE"} <= names
    with zipfile.ZipFile(tmp_path / "like_a_wheel.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in installed.iterdir():
            archive.write(path, path.name)
    assert (tmp_path / "like_a_wheel.zip").stat().st_size <= LARGEST_BYTES
    with safe_open(installed / "model.safetensors", framework="np") as weights:
        assert weights.get_slice("embeddings").get_dtype() == "I8"
    assert json.loads((installed / "provenance.json").read_text())["command"].startswith("hf-paraphrase ")


def test_the_builtin_encoder_knows_what_is_alike(installed):
    encoder = SentenceEncoder.from_pretrained()
    near, far = "A man plays the guitar.", "The parliament rejected the budget."
    cosines = encoder.similarity("Someone is playing a guitar.", [near, far])[0]
    assert cosines[0] > cosines[1] + 0.3


def test_the_builtin_encoder_knows_exact_names_and_numbers(installed):
    encoder = SentenceEncoder.from_pretrained()
    told = "Zyrkon Mbeki-Halloran won 48,317 votes."
    same, other = "48,317 votes for Zyrkon Mbeki-Halloran.", "Quentin Oyelaran-Stubbs won 21,906 votes."
    cosines = encoder.similarity(told, [same, other])[0]
    assert cosines[0] > cosines[1] + 0.2


def test_the_builtin_encoder_needs_no_network_and_no_code_of_its_folder(installed):
    assert not list(installed.glob("*.py"))
    for name in ("config.json", "tokenizer_config.json"):
        assert "auto_map" not in json.loads((installed / name).read_text())
    assert SentenceEncoder.from_pretrained().encode("A dog sleeps.").shape == (512,)


@pytest.mark.real_data
def test_the_builtin_encoder_is_as_good_as_its_card_says(real_data_dir):
    from hf_paraphrase.evaluation.dev import dev_scorer

    scores = dev_scorer(real_data_dir / "sts")(SentenceEncoder.from_pretrained().encode)
    assert 77.0 < scores["dev_mean"] < 77.5
