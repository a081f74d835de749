from __future__ import annotations

import contextlib
import json
import shutil

import pytest
import torch
from tiny_encoders import write_average

from hf_paraphrase.artefacts.model_loading import check_model_type, load_model_folder
from hf_paraphrase.artefacts.untrusted_models import check_model_folder, check_tensors, opening
from hf_paraphrase.errors import HfParaphraseError, ModelError
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "avg"
    return write_average(folder, ["one", "two", "three"], hidden_size=4)


@pytest.fixture
def folder(good, tmp_path):
    return shutil.copytree(good, tmp_path / "avg")


def change(path, **values):
    settings = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**settings, **values}))


def opened(folder):
    check_model_type(folder, ["avg"], kind="sentence encoder", verb="train-encoder")
    return load_model_folder(folder, AvgModel)


def test_a_good_folder_passes_and_gives_its_tensors(folder):
    tensors = check_model_folder(folder)
    assert {name: item.shape for name, item in tensors.items()} == {"embeddings": (5, 4)}
    check_tensors(AvgModel, folder, tensors)
    assert opened(folder)[0].embeddings.shape == (5, 4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pad_token_id", "0"),
        ("pad_token_id", -1),
        ("pad_token_id", 5),
        ("pad_token_id", True),
        ("pad_token_id", [0]),
        ("unk_token_id", 1.0),
        ("cls_token_id", {}),
        ("decoder_start_token_id", "<s>"),
        ("eos_token_id", [2, "3"]),
    ],
)
@pytest.mark.parametrize("file", ["config.json", "generation_config.json", "config.json of a part"])
def test_a_token_id_that_is_none_is_named_with_file_and_value(folder, file, key, value):
    path = folder / file.partition(" ")[0]
    found = {"vocab_size": 5, key: value}
    change(path, **({"encoder": found} if "part" in file else found))
    with pytest.raises(ModelError) as caught:
        opened(folder)
    assert caught.value.path == str(path) and f"`{key}` is {json.dumps(value)}, which is" in str(caught.value)
    assert "at least 0 below 5, or null" in caught.value.remedy


def test_token_ids_may_be_null_and_several_may_end_a_text(folder):
    change(folder / "config.json", pad_token_id=None, eos_token_id=[2, 3], bos_token_id=4)
    assert opened(folder)[0].config.eos_token_id == [2, 3]


def test_weights_that_several_parts_share_may_be_there_once(tmp_path):
    tokenizer = train_bpe_tokenizer(["a b c d e"] * 3, 30)
    config = RnnSearchConfig(
        vocab_size=len(tokenizer), hidden_size=4, embedding_size=4, share_embeddings=True, tie_word_embeddings=True
    )
    RnnSearchForConditionalGeneration(config).save_pretrained(tmp_path)
    check_tensors(RnnSearchForConditionalGeneration, tmp_path, check_model_folder(tmp_path))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"vocab_size": 10**12}, "`vocab_size` is 1000000000000 "),
        ({"hidden_size": 10**30}, "`hidden_size` is 1000000000000000000000000000000 "),
        ({"num_hidden_layers": 10**9}, "`num_hidden_layers` is 1000000000 "),
        ({"vocab_sizes": [3, 10**12]}, "`vocab_sizes` is 1000000000000 "),
        ({"vocab_size": 6}, "embeddings is \\[5, 4\\], not \\[6, 4\\]"),
        ({"hidden_size": 3}, "embeddings is \\[5, 4\\], not \\[5, 3\\]"),
        ({"vocab_size": -5}, "cannot be opened"),
        ({"vocab_size": "many"}, "cannot be opened"),
        ({"vocab_size": [5]}, "cannot be opened"),
        ({"vocab_size": None}, "cannot be opened"),
        ({"dropout": "x"}, "cannot be opened"),
        ({"auto_map": {"AutoModel": "../evil.Evil"}}, "`auto_map` names code that is not in this folder"),
        ({"auto_map": {"AutoModel": "org/other--modeling.Evil"}}, "`auto_map` names code"),
        ({"auto_map": {"AutoModel": "/tmp/evil.Evil"}}, "`auto_map` names code"),
        ({"auto_map": "evil"}, "`auto_map` names code"),
        ({"auto_map": {"AutoModel": {"a": 1}}}, "`auto_map` names code"),
        ({"transformers_weights": "../../x.safetensors"}, "`transformers_weights` is not the name of a file"),
    ],
)
def test_a_config_that_lies_about_sizes_or_leads_elsewhere_is_refused(folder, values, reason):
    change(folder / "config.json", **values)
    with pytest.raises(ModelError, match=reason):
        opened(folder)


@pytest.mark.parametrize(
    "value",
    ["../../x", "/etc/passwd", "sub/x.json", "..", "", "C:\\x", 3, ["ok.json", "../x"], {"a": "b"}],
)
@pytest.mark.parametrize("key", ["source_tokenizer_file", "tokenizer_file", "vocab_file", "tokenizers_file"])
def test_a_tokenizer_that_names_files_elsewhere_is_refused(folder, key, value):
    change(folder / "tokenizer_config.json", **{key: value})
    with pytest.raises(ModelError, match=f"`{key}` is not the name of a file in this folder"):
        opened(folder)


def test_a_foreign_tokenizer_may_carry_the_path_of_a_file_that_is_not_there(folder, tmp_path):
    change(
        folder / "tokenizer_config.json",
        tokenizer_file=str(tmp_path / "absent"),
        special_tokens_map_file="/elsewhere/x",
    )
    check_model_folder(folder, ours=False)
    (tmp_path / "absent").write_text("now it is")
    with pytest.raises(ModelError, match="`tokenizer_file`"):
        check_model_folder(folder, ours=False)


SETTINGS = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "provenance.json",
)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    "content",
    [b"[]", b"null", b"not JSON", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"", b"1" * 5_000],
    ids=["list", "null", "text", "bytes", "deep list", "deep object", "empty", "long number"],
)
def test_settings_that_are_no_json_object_are_a_model_error(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError) as caught:
        opened(folder)
    assert caught.value.path == str(folder / name) and len(str(caught.value)) < 600


def tokenizer(**parts):
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model, **parts})


def words(number):
    return tokenizer(model={"type": "WordLevel", "vocab": {"a": number}, "unk_token": "a"})


SPLIT = {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}
TOKENIZERS = {
    "text": "not JSON",
    "list": "[]",
    "empty": "",
    "object": "{}",
    "no model": tokenizer(model=None),
    "deep": '{"model":' * 10_000,
    "unknown model": tokenizer(model={"type": "Pickle"}),
    "negative id": words(-1),
    "great id": words(4_000_000_000),
    "bad pattern": tokenizer(pre_tokenizer=SPLIT),
}


@pytest.mark.parametrize("content", TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_tokenizer_file_that_is_none_is_a_model_error(folder, content):
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError) as caught:
        opened(folder)
    assert len(str(caught.value)) < 1_000


def test_a_missing_tensor_is_named_before_room_is_made_for_it(folder):
    from safetensors.torch import save_file

    save_file({"other": torch.zeros(5, 4)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="missing embeddings"):
        opened(folder)
    save_file({"embeddings": torch.zeros(5, 4), "extra": torch.zeros(1)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="unexpected extra"):
        opened(folder)


@pytest.mark.parametrize("name", ["../../x.safetensors", "/tmp/x.safetensors", "absent.safetensors", 3])
def test_an_index_of_weights_that_names_files_elsewhere_or_none_is_refused(folder, name):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"embeddings": name}}))
    with pytest.raises(ModelError):
        opened(folder)


def test_pickled_weights_are_never_opened(folder):
    class Evil:
        def __reduce__(self):
            return (open, (str(folder / "owned"), "w"))

    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": torch.zeros(5, 4), "x": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="no weights"):
        opened(folder)
    (folder / "other.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(ModelError):
        opened(folder)
    assert not (folder / "owned").exists()


def test_code_in_the_folder_is_not_run(folder):
    (folder / "evil.py").write_text(f"open({str(folder / 'owned')!r}, 'w')\nclass Evil: ...\n")
    change(folder / "config.json", auto_map={"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil"})
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]}, tokenizer_class="Evil")
    with contextlib.suppress(ModelError):
        opened(folder)
    assert not (folder / "owned").exists()


def test_an_adapter_that_points_to_another_model_is_refused(folder):
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/somewhere"}')
    with pytest.raises(ModelError, match="an adapter"):
        opened(folder)


def test_whatever_a_library_raises_becomes_one_short_error_and_interrupts_pass():
    class PanicException(BaseException):
        pass

    for raised in (ValueError("a\nb" * 1_000), PanicException("index out of bounds"), MemoryError()):
        with pytest.raises(ModelError) as caught, opening("the model", "x"):
            raise raised
        assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)
    with pytest.raises(KeyboardInterrupt), opening("the model", "x"):
        raise KeyboardInterrupt
    own = HfParaphraseError("as it is")
    with pytest.raises(HfParaphraseError) as same, opening("the model", "x"):
        raise own
    assert same.value is own
