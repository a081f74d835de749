from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tiny_encoders import write_average

from hf_paraphrase.artefacts.files import opening
from hf_paraphrase.artefacts.model_loading import check_model_type, load_model_folder
from hf_paraphrase.artefacts.weights import check_finite
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.encoder_pieces import load_encoder_tokenizer

TEXTS = ["one two", "three"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "avg"
    return write_average(folder, ["one", "two", "three"], hidden_size=4, initializer_range=1.0)


@pytest.fixture
def folder(good, tmp_path):
    return shutil.copytree(good, tmp_path / "avg")


def change(path, **values):
    settings = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**settings, **values}))


def opened(folder):
    check_model_type(folder, ["avg"], kind="sentence encoder", verb="train-encoder")
    return load_model_folder(folder, AvgModel)


OPENERS = {"with transformers": opened, "as a table": SentenceEncoder.from_pretrained}


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"[]"),
        ("generation_config.json", b"{"),
        ("tokenizer_config.json", b"not JSON"),
        ("tokenizer.json", b'{"model": {"type": "Pickle"}}'),
        ("model.safetensors", b"text" * 50),
        ("model.safetensors", None),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(folder, opener, name, content):
    if opener == "as a table" and name == "generation_config.json":
        pytest.skip("not read")
    path = folder / name
    path.write_bytes(path.read_bytes()[:-3] if content is None else content)
    with pytest.raises(ModelError) as caught:
        OPENERS[opener](folder)
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1_000


def test_only_safetensors_are_opened_and_never_a_pickle(folder):
    class Evil:
        def __reduce__(self):
            return (open, (str(folder / "owned"), "w"))

    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": torch.zeros(5, 4), "x": Evil()}, folder / "pytorch_model.bin")
    for opener in OPENERS.values():
        with pytest.raises(ModelError, match=r"the model has no weights \(model.safetensors\)"):
            opener(folder)
    assert not (folder / "owned").exists()


def test_code_of_others_is_never_run(folder):
    code = "somebody/elsewhere--evil.Evil"
    tokenizer_config = (folder / "tokenizer_config.json").read_text()
    (folder / "evil.py").write_text(f"open({str(folder / 'owned')!r}, 'w')\nclass Evil: ...\n")
    change(folder / "config.json", auto_map={"AutoModel": code, "AutoConfig": code})
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [code, None]}, tokenizer_class="Evil")
    for opener in OPENERS.values():
        with pytest.raises(ModelError, match="of a class of its own, `"):
            opener(folder)
    (folder / "tokenizer_config.json").write_text(tokenizer_config)
    (folder / "evil.py").rename(folder / "modeling_avg.py")
    change(folder / "config.json", auto_map={"AutoModel": "modeling_avg.AvgModel"})
    for opener in OPENERS.values():
        opener(folder)
    assert not (folder / "owned").exists()


def test_weights_that_are_not_finite_are_refused(folder):
    for value in (np.nan, np.inf, -np.inf, 1e30):
        with pytest.raises(ModelError, match="the training diverged: weights of x are NaN, infinite or too large"):
            check_finite({"x": torch.tensor([0.0, value, 1.0])})
    check_finite({"x": torch.tensor([1e18]), "ids": torch.tensor([1 << 62]), "none": torch.zeros(0)})
    save_file({"embeddings": torch.full((5, 4), np.nan)}, folder / "model.safetensors", {"format": "pt"})
    for opener in OPENERS.values():
        with pytest.raises(ModelError, match=r"weights of embeddings are NaN|is not finite"):
            opener(folder)


def test_a_snapshot_in_the_cache_of_the_hub_opens_where_it_is_given_as_a_path(folder, tmp_path):
    expected = SentenceEncoder.from_pretrained(folder).encode(TEXTS)
    repository = tmp_path / "models--ann--avg"
    snapshot = repository / "snapshots" / "0123456789abcdef"
    snapshot.mkdir(parents=True)
    blobs = folder.rename(repository / "blobs")
    for number, path in enumerate(sorted(blobs.iterdir())):
        (snapshot / path.name).symlink_to(path.rename(blobs / str(number)))
    assert np.array_equal(SentenceEncoder.from_pretrained(snapshot).encode(TEXTS), expected)
    assert np.array_equal(SentenceEncoder(*opened(snapshot)).encode(TEXTS), expected)
    assert len(load_encoder_tokenizer(snapshot)) == 5


def test_whatever_a_library_raises_becomes_one_short_error_and_interrupts_pass():
    class PanicException(BaseException):
        pass

    for raised in (ValueError("a\nb" * 1_000), PanicException("index out of bounds")):
        with pytest.raises(ModelError) as caught, opening("the model", "x"):
            raise raised
        assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)
    with pytest.raises(KeyboardInterrupt), opening("the model", "x"):
        raise KeyboardInterrupt
