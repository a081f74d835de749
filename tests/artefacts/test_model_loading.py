from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file
from tiny_encoders import change_json, write_average

import hf_paraphrase
from hf_paraphrase.artefacts.files import check_no_links, open_array, wrap_load_errors
from hf_paraphrase.artefacts.model_loading import check_model_type, load_model_folder
from hf_paraphrase.artefacts.weights import check_finite
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.hub.publishing import plan_push
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.encoder_pieces import load_encoder_tokenizer

TEXTS = ["one two", "three"]
WORDS = ["the", "cat", "sat", "down"]


@pytest.fixture
def folder(tmp_path):
    return write_average(tmp_path / "avg", ["one", "two", "three"], hidden_size=4, initializer_range=1.0)


def opened(folder):
    check_model_type(folder, ["avg"], kind="sentence encoder", verb="train-encoder")
    return load_model_folder(folder, AvgModel)


OPENERS = {"with transformers": opened, "as a table": SentenceEncoder.from_pretrained}


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"[]"),
        ("config.json", b"\xff\xfe"),
        ("config.json", b"[" * 100_000),
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


class Evil:
    """What leaves a file where it is unpickled."""

    def __init__(self, folder):
        self.path = folder / "owned"

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_only_safetensors_are_opened_and_never_a_pickle(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": torch.zeros(5, 4), "x": Evil(folder)}, folder / "pytorch_model.bin")
    for opener in OPENERS.values():
        with pytest.raises(ModelError, match=r"the model has no weights \(model.safetensors\)"):
            opener(folder)
    assert not (folder / "owned").exists()


def test_code_of_others_is_never_run(folder):
    tokenizer_config = (folder / "tokenizer_config.json").read_text()
    (folder / "evil.py").write_text(f"open({str(folder / 'owned')!r}, 'w')\nclass Evil: ...\n")
    # The second one as `save_pretrained` of transformers writes a subclass, even if that has the name of its base.
    for code in ("somebody/elsewhere--evil.Evil", "evil.AvgModel"):
        change_json(folder / "config.json", auto_map={"AutoModel": code, "AutoConfig": code})
        change_json(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [code, None]}, tokenizer_class="Evil")
        for opener in OPENERS.values():
            with pytest.raises(ModelError, match=f"has its own class, `{code.rpartition('--')[2]}`"):
                opener(folder)
        (folder / "tokenizer_config.json").write_text(tokenizer_config)
    (folder / "evil.py").rename(folder / "modeling_avg.py")
    change_json(folder / "config.json", auto_map={"AutoModel": "modeling_avg.AvgModel"})
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
        with pytest.raises(ModelError) as caught, wrap_load_errors("the model", "x"):
            raise raised
        assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)
    with pytest.raises(KeyboardInterrupt), wrap_load_errors("the model", "x"):
        raise KeyboardInterrupt


# ----- tables of integers


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a little average in int8."""
    root = tmp_path_factory.mktemp("models")
    write_average(root / "avg", WORDS, initializer_range=1.0)
    hf_paraphrase.export(model=root / "avg", output=root / "int8", format="safetensors", weights="int8")
    return root / "int8"


def damaged(tensors, name):
    """Takes a tensor away, or changes it."""
    if name == "absent":
        return {"embeddings": tensors["embeddings"]}
    return {**tensors, "weights": tensors["weights"][:-1] if name == "short" else tensors["weights"] * np.nan}


@pytest.mark.parametrize(
    ("damage", "settings", "text"),
    [
        ("absent", {}, "do not fit the configuration"),
        ("short", {}, r"`weights` has the shape \[5\], and there are 6 tokens"),
        ("nan", {}, "the vector of token 0 is not finite"),
        (None, {"hidden_size": 4}, r"do not fit the configuration: \(6, 5\), wanted \(6, 4\)"),
        (None, {"model_type": "gran"}, "a model of type `gran` cannot have integer weights"),
    ],
)
def test_damage_of_an_int8_table_is_one_clear_line(exported, tmp_path, damage, settings, text):
    folder = shutil.copytree(exported, tmp_path / "damaged")
    tensors = load_file(folder / "model.safetensors")
    save_arrays(tensors if damage is None else damaged(tensors, damage), folder / "model.safetensors")
    change_json(folder / "config.json", **settings)
    with pytest.raises(ModelError, match=text) as caught:
        SentenceEncoder.from_pretrained(folder)
    assert "\n" not in str(caught.value)


def test_an_int8_folder_serves_as_initial_vectors_and_travels(exported):
    opened = SentenceEncoder.from_pretrained(exported).model
    assert opened.embeddings.requires_grad and opened.embeddings.is_leaf  # it can be trained on
    vectors = read_initial_vectors(exported, WORDS)
    rows = [2 + WORDS.index(word) for word in vectors.words[:-1]]
    np.testing.assert_array_equal(vectors.matrix[:-1], opened.embeddings.detach().numpy()[rows])
    plan = plan_push(exported, "someone/int8")
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md", "provenance.json"} <= {
        file.name for file in plan.files
    }


# ----- other files


def test_a_damaged_array_is_an_error_that_names_the_file_and_a_pickle_in_one_is_never_loaded(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((100, 4), np.float32))
    content = path.read_bytes()
    unreadable = content.replace(b"(100, 4)", b"(100\0\xf4)"), content.replace(b"(100, 4), }", b"(100, 4    ")
    np.save(path, np.array([Evil(tmp_path)], object), allow_pickle=True)
    for damaged in (path.read_bytes(), content[:-1], content[:60], b"", b"text" * 50, *unreadable):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"a\.npy: not a readable NumPy file"):
            open_array(path)
    assert not (tmp_path / "owned").exists()


def test_a_link_below_a_folder_that_is_written_to_is_refused(tmp_path):
    (tmp_path / "out" / "data").mkdir(parents=True)
    (tmp_path / "out" / "data" / "file").write_text("x")
    check_no_links(tmp_path / "out")
    (tmp_path / "out" / "data" / ".link").symlink_to("file")
    with pytest.raises(InputError, match=r"data/\.link: a link"):
        check_no_links(tmp_path / "out")
