from __future__ import annotations

import json
from fnmatch import fnmatchcase

import numpy as np
import pytest
import torch
from hub_stand_in import TOKEN
from safetensors.torch import save
from tiny_encoders import write_average

from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.artefacts.provenance import REPORT
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HubError, ModelError
from hf_paraphrase.hub.publishing import push_folder
from hf_paraphrase.hub.pushed_files import list_files
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer


@pytest.fixture
def published(read_hub, model_folder, tmp_path, monkeypatch):
    """An encoder that was pushed, large files among its own, and a client with an empty cache."""
    for path in model_folder.glob("model*"):
        path.unlink()
    write_average(model_folder, ["the", "cat", "sat", "down"], initializer_range=1.0)
    monkeypatch.chdir(tmp_path)
    push_folder(model_folder, "ann/best", token=TOKEN)
    push_folder(model_folder, "ann/best", token=TOKEN, revision="v2")
    read_hub.requests.clear()
    return read_hub


def test_what_was_pushed_opens_by_the_name_on_its_card_and_its_code_is_not_fetched(published, model_folder, tmp_path):
    encoder = SentenceEncoder.from_pretrained("ann/best")
    texts = ["the cat sat", "down"]
    assert np.array_equal(encoder.encode(texts), SentenceEncoder.from_pretrained(model_folder).encode(texts))
    assert (model_folder / "modeling_avg.py").is_file()
    assert not list((tmp_path / "cache").rglob("*.py"))
    assert SentenceEncoder.from_pretrained("ann/best", revision="v2").dimension == 5


def test_a_model_of_others_is_refused_before_its_weights_travel(published):
    files = {"config.json": b'{"model_type": "llama"}', "model.safetensors": b"much", "tokenizer.json": b"{}"}
    published.make("ann/llama", files=files)
    published.requests.clear()
    with pytest.raises(ModelError, match="a model of type `llama` is a decoder"):
        SentenceEncoder.from_pretrained("ann/llama")
    asked = published.sent("GET", "/ann/llama/resolve/*") + published.sent("HEAD", "/ann/llama/resolve/*")
    assert {path.rpartition("/")[2] for path in asked} == {"config.json"}


def test_all_that_the_commands_write_into_model_folders_is_fetched_but_code_and_report(
    encoder_folders, translation_folders, classifier_folders, supervised_folders, parallel_folders
):
    made = (encoder_folders, translation_folders, classifier_folders, supervised_folders, parallel_folders)
    for folder in (folder for folders in made for folder in folders.values()):
        names = {file.name for file in list_files(folder)[0] if not file.name.endswith(".py")}
        assert REPORT in names
        names.remove(REPORT)
        assert {
            name for name in names if not any(fnmatchcase(name, pattern) for pattern in hub_models.FETCHED)
        } == set()


def test_the_copy_serves_where_the_hub_cannot_be_reached(published, monkeypatch):
    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    SentenceEncoder.from_pretrained("ann/best")
    monkeypatch.setattr(hub_models, "_FOLDERS", {})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    close_session()  # the client looks at the setting when it makes its session
    published.requests.clear()
    assert SentenceEncoder.from_pretrained("ann/best").dimension == 5
    with pytest.raises(HubError, match="is offline and has no copy"):
        SentenceEncoder.from_pretrained("ann/other")
    assert published.requests == []


def test_what_the_hub_does_not_have_is_one_line(published, monkeypatch):
    from huggingface_hub import constants

    published.make("ann/secret").private = True
    for name in ("ann/none", "ann/secret"):
        with pytest.raises(ModelError, match=r"no such model on the Hub that you may see.*hf auth login"):
            SentenceEncoder.from_pretrained(name)
    with pytest.raises(ModelError, match="has no revision `v3`"):
        SentenceEncoder.from_pretrained("ann/best", revision="v3")
    published.make("ann/empty", files={"notes.txt": b"nothing"})
    with pytest.raises(ModelError, match="the repository has no model"):
        SentenceEncoder.from_pretrained("ann/empty")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubError, match=r"cannot be reached: ConnectError.*your network"):
        SentenceEncoder.from_pretrained("ann/elsewhere")


def test_an_encoder_of_another_library_is_fetched_and_its_code_never(published, tmp_path):
    from transformers import BertConfig, BertModel

    from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

    folder = tmp_path / "bert"
    size = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    tokenizer = build_word_level_tokenizer(["the", "cat"])
    BertModel(BertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    (folder / "modeling_evil.py").write_text("raise SystemExit(1)\n")
    published.make("ann/bert", files={path.name: path.read_bytes() for path in folder.iterdir()})
    vectors = SentenceEncoder.from_pretrained("ann/bert").encode(["the cat"])
    np.testing.assert_allclose(vectors, SentenceEncoder.from_pretrained(folder).encode(["the cat"]), atol=1e-6)
    asked = published.sent("GET", "/ann/bert/resolve/*")
    assert not any(path.endswith(".py") for path in asked)


@pytest.mark.parametrize("place", ["", "0_StaticEmbedding/"])
def test_a_table_of_another_library_is_fetched_by_name_like_one_of_ours(published, tmp_path, place):
    tokenizer = build_word_level_tokenizer(["the", "cat", "sat"]).backend_tokenizer
    table = torch.arange(2.0 * tokenizer.get_vocab_size()).reshape(-1, 2)
    name = "embedding.weight" if place else "embeddings"
    files = {
        f"{place}model.safetensors": save({name: table}),
        f"{place}tokenizer.json": tokenizer.to_str().encode(),
        "unsafe.bin": b"not fetched",
    }
    if place:
        module = {"idx": 0, "name": "0", "path": place[:-1], "type": "sentence_transformers.models.StaticEmbedding"}
        files["modules.json"] = json.dumps([module]).encode()
    else:
        files["config.json"] = b'{"model_type": "model2vec", "normalize": false}'
    published.make("ann/table", files=files)
    encoder = SentenceEncoder.from_pretrained("ann/table")
    ids = tokenizer.encode("the cat").ids
    np.testing.assert_allclose(encoder.encode("the cat"), table[ids].mean(0))
    assert not list((tmp_path / "cache").rglob("*.bin"))
