"""Models are opened by their names on the Hub; only data of them is fetched, and only where it is of use."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from huggingface_hub import errors
from huggingface_hub.utils import filter_repo_objects
from safetensors.torch import save
from small_runs import tree
from tiny_encoders import change_json, write_average

from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.artefacts.hub_models import model_folder
from hf_paraphrase.artefacts.provenance import REPORT, fingerprint
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HubError, ModelError
from hf_paraphrase.hub.pushed_files import list_files
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory):
    """An encoder as it is on the Hub, with its code."""
    folder = write_average(tmp_path_factory.mktemp("published") / "avg")
    (folder / "README.md").write_text("---\nlicense: mit\nlanguage:\n- en\n---\n\n# avg\n")
    (folder / "modeling_avg.py").write_text("raise SystemExit('the code of a repository ran')\n")
    change_json(folder / "config.json", auto_map={"AutoModel": "modeling_avg.AvgModel"})
    return folder


@pytest.fixture
def published(hub, encoder_folder, tmp_path, monkeypatch):
    """A Hub with that encoder, in a working folder of its own."""
    hub.make("ann/avg", files=tree(encoder_folder))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return hub


def test_a_model_gives_the_vectors_of_its_folder_and_no_code_pickle_or_checkpoint_of_it_is_fetched(
    published, encoder_folder
):
    others = ("weights.pkl", "a.bin", "run.sh", "checkpoint-5/model.safetensors", "data/huge.json", "onnx/fp16.onnx")
    parts = {"1_Pooling/config.json", "onnx/model.onnx", "source_tokenizer/tokenizer.json"}
    own = tree(encoder_folder)
    published.make("ann/avg", files=own | dict.fromkeys((*others, *parts), b"much"))
    texts = ["w1 w2", "w3"]
    vectors = SentenceEncoder.from_pretrained("ann/avg").encode(texts)
    assert np.array_equal(vectors, SentenceEncoder.from_pretrained(encoder_folder).encode(texts))
    assert set(published.fetched) == {name for name in own if not name.endswith(".py")} | parts


def test_a_second_attempt_that_trusts_the_code_fetches_it(published):
    folder = model_folder("ann/avg")
    assert not list(folder.glob("*.py"))
    assert model_folder("ann/avg", with_code=True) == folder and (folder / "modeling_avg.py").is_file()
    fetched = len(published.fetched)
    assert model_folder("ann/avg", with_code=True) == model_folder("ann/avg") == folder
    assert len(published.fetched) == fetched


@pytest.mark.parametrize(("inner", "settings"), [("", b'{"model_type": "llama"}'), ("[it]/", b"{")])
def test_of_a_model_of_another_type_only_the_settings_are_fetched_and_the_error_is_that_of_a_folder(
    published, tmp_path, inner, settings
):
    names = ("tokenizer.json", "model-00001-of-00002.safetensors")
    published.make(
        "ann/other", files={f"{inner}{name}": b"much" for name in names} | {f"{inner}config.json": settings}
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_bytes(settings)
    messages = set()
    for name in (tmp_path / "other", f"ann/other/{inner}".rstrip("/")):
        with pytest.raises(ModelError, match=r"damaged|is not a sentence encoder|is a decoder") as caught:
            SentenceEncoder.from_pretrained(name)
        messages.add((caught.value.message, caught.value.remedy))
    assert len(messages) == 1 and set(published.fetched) == {f"{inner}config.json"}


@pytest.mark.parametrize("path", ["ann/mine", Path("b/avg"), "./avg", "a//b", ""])
def test_a_local_folder_or_an_invalid_name_is_never_looked_up_on_the_hub(published, path):
    Path("ann/mine").mkdir(parents=True)
    with pytest.raises(ModelError, match=r"config.json|no such model folder|the name of the model is empty"):
        SentenceEncoder.from_pretrained(path)
    assert published.calls == []


def test_an_error_of_the_client_is_one_line_without_credentials(published, capsys):
    text = "a long\nstory of https://me:password@host/?token=s3cret"
    for kind, error in (
        (errors.GatedRepoError, ModelError),
        (errors.RevisionNotFoundError, ModelError),
        (errors.HfHubHTTPError, HubError),
    ):
        published.error = kind(text, response=SimpleNamespace(headers={}, status_code=403, request=None))
        with pytest.raises(error, match=r"cannot fetch it: a long story.*hf auth login.*HF_HUB_OFFLINE") as caught:
            SentenceEncoder.from_pretrained("ann/avg", revision="v2")
        assert "password" not in str(caught.value) and "s3cret" not in str(caught.value)
    assert main(["encode", "--model", "ann/none", "--input", __file__, "--output", "v.npy"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_verbs_take_names_of_the_hub_and_record_them(published, encoder_folder, capsys):
    Path("text").write_text("w1 w2\nw3\n")
    assert main(["encode", "--model", "ann/avg", "--input", "text", "--output", "v.npy"]) == 0
    assert np.array_equal(np.load("v.npy"), SentenceEncoder.from_pretrained(encoder_folder).encode(["w1 w2", "w3"]))
    assert main(["search", "--model", "ann/avg", "--corpus", "text", "--output", "index"]) == 0
    assert main(["search", "--index", "index", "--query", "w3"]) == 0
    assert "\tw3\n" in capsys.readouterr().out
    (model, _) = json.loads(Path("index/provenance.json").read_text())["inputs"]
    assert (model["name"], model["license"]) == ("ann/avg", ["mit"])
    assert model["sha256"] == fingerprint("ann/avg") == fingerprint(model_folder("ann/avg"))
    assert main(["export", "--model", "ann/avg", "--format", "safetensors", "--output", "half"]) == 0
    assert "The sentence encoder **ann/avg**" in Path("half/README.md").read_text()
    assert json.loads(Path("half/provenance.json").read_text())["inputs"][0]["name"] == "ann/avg"
    assert published.fetched.count("model.safetensors") == 1


def test_all_that_the_commands_write_into_model_folders_is_fetched_but_code_and_report(artefacts):
    for kind in ("avg", "word_trigram", "gran", "translator", "classifier", "parallel"):
        names = {file.name for file in list_files(artefacts[kind])[0]}
        patterns = {"allow_patterns": hub_models.FETCHED, "ignore_patterns": hub_models.NOT_FETCHED}
        left_out = names - set(filter_repo_objects(names, **patterns))
        assert REPORT in left_out and {name for name in left_out if not name.endswith(".py")} == {REPORT}


def test_a_table_of_another_library_is_fetched_by_name_like_one_of_ours(published):
    tokenizer = build_word_level_tokenizer(["the", "cat", "sat"]).backend_tokenizer
    table = torch.arange(2.0 * tokenizer.get_vocab_size()).reshape(-1, 2)
    module = {"idx": 0, "name": "0", "path": "0_StaticEmbedding"}
    files = {
        "0_StaticEmbedding/model.safetensors": save({"embedding.weight": table}),
        "0_StaticEmbedding/tokenizer.json": tokenizer.to_str().encode(),
        "modules.json": json.dumps([{**module, "type": "sentence_transformers.models.StaticEmbedding"}]).encode(),
        "unsafe.bin": b"not fetched",
    }
    published.make("ann/table", files=files)
    encoder = SentenceEncoder.from_pretrained("ann/table")
    np.testing.assert_allclose(encoder.encode("the cat"), table[tokenizer.encode("the cat").ids].mean(0))
    assert "unsafe.bin" not in published.fetched
