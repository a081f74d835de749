"""Encoders of transformers and sentence-transformers: the same vectors as there, and no code of a folder runs."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch
from tiny_encoders import change_json
from tiny_transformers import POSITIONS, static_module, tokenizer_of, write_modules, write_transformer
from transformers import AutoModel, AutoTokenizer, BartConfig, BartModel, GPT2Config, GPT2Model, ViTConfig, ViTModel

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError, UsageError
from hf_paraphrase.evaluation.baselines import open_scorers
from hf_paraphrase.evaluation.retrieval import RetrievalSet, rank_by_vectors
from hf_paraphrase.searching.index import SearchIndex, build_index

TEXTS = ["The cats sat on a mat.", "a", "", "Paris, zzz", "doctor " * 40, "a cat's car", " näïve  東京 ﬁ "]


@pytest.fixture(scope="module", params=["bert", "roberta", "mpnet"])
def kind(request, tmp_path_factory):
    return request.param, write_transformer(tmp_path_factory.mktemp("plain") / request.param, request.param)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_transformer(tmp_path_factory.mktemp("bert") / "bert")


def saved(folder, plain, pooling="mean", *more, length=None, include_prompt=True, **settings):
    """A folder that sentence-transformers wrote, opened by it."""

    def make(modules):
        first = modules.Transformer(str(plain), max_seq_length=length)
        return [first, modules.Pooling(16, pooling, include_prompt=include_prompt), *(one(modules) for one in more)]

    return write_modules(folder, make, **settings)


def test_a_plain_transformer_is_pooled_by_the_mean_like_in_sentence_transformers(kind, tmp_path):
    expected = saved(tmp_path / "st", kind[1], length=POSITIONS)
    encoder = SentenceEncoder.from_pretrained(kind[1])
    assert encoder.max_seq_length == POSITIONS
    np.testing.assert_allclose(encoder.encode(TEXTS), expected.encode(TEXTS), atol=1e-5)
    ours = SentenceEncoder.from_pretrained(tmp_path / "st").encode(TEXTS, batch_size=2)
    np.testing.assert_allclose(ours, expected.encode(TEXTS), atol=1e-5)
    of_model = SentenceEncoder(AutoModel.from_pretrained(kind[1]), AutoTokenizer.from_pretrained(kind[1]))
    np.testing.assert_allclose(of_model.encode(TEXTS), expected.encode(TEXTS), atol=1e-5)


def test_of_a_translation_model_the_encoder_reads_and_what_is_saved_opens_again(tmp_path):
    tokenizer = tokenizer_of("bert")
    sizes = {f"{side}_{name}": 2 for side in ("encoder", "decoder") for name in ("layers", "attention_heads")}
    config = BartConfig(vocab_size=len(tokenizer), d_model=16, pad_token_id=1, **sizes, init_std=0.5)
    model = BartModel(config).eval()
    model.save_pretrained(tmp_path / "bart")
    tokenizer.save_pretrained(tmp_path / "bart")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "bart")
    with torch.inference_mode():
        states = model.get_encoder()(**tokenizer(TEXTS[0], return_tensors="pt")).last_hidden_state
    np.testing.assert_allclose(encoder.encode(TEXTS[0]), states[0].mean(0), atol=1e-5)
    encoder.save_pretrained(tmp_path / "again")
    again = SentenceEncoder.from_pretrained(tmp_path / "again")
    np.testing.assert_allclose(again.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("pooling", "more", "settings"),
    [
        ("lasttoken", [], {}),
        (["weightedmean", "mean_sqrt_len_tokens", "max"], [], {}),
        ("mean", [lambda models: models.Dropout(0.5), lambda models: models.Normalize()], {"length": 7}),
        ("cls", [lambda models: models.Dense(16, 6), lambda models: models.Normalize()], {}),
        ("mean", [lambda m: m.LayerNorm(16), lambda m: m.Normalize(), lambda m: m.Dense(16, 6, bias=False)], {}),
        ("mean", [], {"prompts": {"query": "the car "}, "default_prompt_name": "query", "truncate_dim": 5}),
        ("mean", [], {"prompts": {"a": "the car "}, "default_prompt_name": "a", "include_prompt": False}),
        (["cls", "weightedmean", "max"], [], {"prompts": {"query": "in the car "}, "include_prompt": False}),
    ],
)
def test_pooling_layers_length_and_prompts_of_a_folder_are_followed(bert, tmp_path, pooling, more, settings):
    settings = {"length": POSITIONS, **settings}
    expected = saved(tmp_path / "st", bert, pooling, *more, **settings)
    encoder = SentenceEncoder.from_pretrained(tmp_path / "st")
    vectors = expected.encode(TEXTS)
    assert encoder.dimension == encoder.get_sentence_embedding_dimension() == vectors.shape[1]
    assert encoder.max_seq_length == expected.max_seq_length and encoder.prompts.items() <= expected.prompts.items()
    np.testing.assert_allclose(encoder.encode(TEXTS), vectors, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_query(TEXTS), expected.encode_query(TEXTS), atol=1e-5)
    np.testing.assert_allclose(encoder.encode_token_ids(encoder.token_ids(TEXTS)), vectors, atol=1e-5)
    for options in ({"truncate_dim": 3}, {"truncate_dim": 3, "normalize_embeddings": True}):
        np.testing.assert_allclose(encoder.encode(TEXTS, **options), expected.encode(TEXTS, **options), atol=1e-5)
    # What is saved gives the same in both libraries.
    again = encoder.save_pretrained(tmp_path / "again")
    np.testing.assert_allclose(SentenceEncoder.from_pretrained(again).encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    theirs = type(expected)(str(again), device="cpu", local_files_only=True)
    theirs.default_prompt_name = expected.default_prompt_name
    np.testing.assert_allclose(theirs.encode(TEXTS), vectors, atol=1e-5)


def test_queries_and_documents_have_their_prompts_also_in_searches(bert, tmp_path):
    prompts = {"query": "the car ", "passage": "in paris "}
    expected = saved(tmp_path / "st", bert, prompts=prompts, length=POSITIONS)
    encoder = SentenceEncoder.from_pretrained(tmp_path / "st")
    np.testing.assert_allclose(encoder.encode_document(TEXTS), expected.encode_document(TEXTS), atol=1e-5)
    with pytest.raises(UsageError, match=r"prompt_name `quer` is unknown .*query"):
        encoder.encode(TEXTS, prompt_name="quer")
    corpus = ["the cat sat", "a doctor in paris", "cars"]
    cosines = encoder.similarity(expected.encode_query(["a mat"]), expected.encode_document(corpus))[0]
    build_index(encoder, [corpus], tmp_path / "index")
    (found,) = SearchIndex(tmp_path / "index", encoder).search("a mat")
    np.testing.assert_allclose([hit.score for hit in found], np.sort(cosines)[::-1], atol=1e-5)
    (scorer,) = open_scorers(str(tmp_path / "st"), device="cpu", batch_size=8)
    data = RetrievalSet("", "", dict(enumerate(corpus)), {"q": "a mat"}, {"q": {}}, ())
    assert rank_by_vectors(scorer, data) == [np.argsort(-cosines).tolist()]


def words(models):
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    tokenizer = WhitespaceTokenizer(["cat", "doctor", "paris", "mat"], stop_words=["a"], do_lower_case=True)
    return models.WordEmbeddings(tokenizer, np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32))


def static(modules):
    return static_module(modules, columns=16)


LIBRARY_MODULES = {
    "residual": lambda m, bert: [m.Transformer(str(bert)), m.Pooling(16), m.Dense(16, 6, use_residual=True)],
    "layers": lambda m, bert: [
        m.Transformer(str(bert), config_kwargs={"output_hidden_states": True}),
        m.WeightedLayerPooling(16, 2, 1),
        m.CNN(16, 4),
        m.Pooling(12, include_prompt=False),
    ],
    "words": lambda m, bert: [words(m), m.LSTM(8, 3), m.Pooling(6)],
    "counts": lambda m, bert: [m.BoW(["cat", "doctor", "cars"], {"cat": 2.5}), m.Dense(3, 4)],
    "static": lambda m, bert: [static(m), m.Dense(16, 6)],
    "router": lambda m, bert: [
        m.Router.for_query_document([static(m), m.Dense(16, 16)], [m.Transformer(str(bert)), m.Pooling(16)]),
        m.Normalize(),
    ],
}


@pytest.mark.parametrize("kind", LIBRARY_MODULES)
def test_modules_that_only_sentence_transformers_has_give_what_they_give_there(bert, tmp_path, kind):
    prompts = {"query": "the cat ", "document": "doctor "}
    made = partial(LIBRARY_MODULES[kind], bert=bert)
    expected = write_modules(tmp_path / "st", made, prompts=prompts, truncate_dim=4)
    encoder = SentenceEncoder.from_pretrained(tmp_path / "st")
    texts = [*TEXTS, "naïve 東京 \u200b [PAD]<s>"]
    assert encoder.dimension == expected.encode("a").shape[0]
    for name, options in (("encode", {}), ("encode_query", {}), ("encode_document", {"truncate_dim": 3})):
        vectors = getattr(expected, name)(texts, **options)
        np.testing.assert_allclose(getattr(encoder, name)(texts, **options), vectors, atol=1e-5)
    again = encoder.save_pretrained(tmp_path / "again")
    np.testing.assert_allclose(
        SentenceEncoder.from_pretrained(again).encode_query(texts), expected.encode_query(texts), atol=1e-5
    )


@pytest.mark.parametrize("length", [9, None])
def test_a_long_text_is_truncated_between_its_special_tokens_and_logged_once(bert, length, caplog):
    encoder = SentenceEncoder.from_pretrained(bert)
    if length is not None:
        encoder.max_seq_length = length
    long = "the cat sat on a mat in paris . " * 9
    expected = encoder.tokenizer([long], truncation=True, max_length=length or POSITIONS)["input_ids"]
    assert encoder.tokenize([long])["input_ids"].tolist() == expected
    encoder.encode([long, "a"])
    encoder.encode([long])
    assert [record.getMessage() for record in caplog.records if "tokens" in record.getMessage()] == [
        f"2 texts have more than {length or POSITIONS} tokens and are truncated"
    ]


def test_older_folders_say_their_poolings_as_flags_and_may_ask_for_lower_case(tmp_path):
    folder = write_transformer(tmp_path, "roberta")
    (folder / "modules.json").write_text(json.dumps([TRANSFORMER, POOLING]))
    (folder / "1_Pooling").mkdir()
    flags = {"word_embedding_dimension": 16, "pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))
    before = SentenceEncoder.from_pretrained(folder)
    assert before.model.poolings == ["cls", "max"] and before.dimension == 32
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    lower = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_array_equal(lower.encode(["The CAT"]), before.encode(["the cat"]))
    # A single pooling is written as a flag in turn.
    change_json(folder / "1_Pooling" / "config.json", pooling_mode_max_tokens=False)
    again = SentenceEncoder.from_pretrained(folder).save_pretrained(tmp_path.with_name("flags"))
    written = json.loads((again / "1_Pooling" / "config.json").read_text())
    assert written["pooling_mode_cls_token"] is True and written["pooling_mode_max_tokens"] is False


def as_adapter(folder):
    (folder / "config.json").unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}')


def as_decoder(folder):
    config = GPT2Config(vocab_size=20, n_embd=4, n_layer=1, n_head=1, n_positions=8, bos_token_id=1, eos_token_id=2)
    GPT2Model(config).save_pretrained(folder)


def as_vision(folder):
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    ViTModel(ViTConfig(**sizes, image_size=4, patch_size=2)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: [path.unlink() for path in f.glob("*token*")], "has no tokenizer"),
        (as_adapter, "an adapter of org/base without that model"),
        (as_decoder, "of type `gpt2` is a decoder"),
        (as_vision, "ViTModel does not read text alone"),
        (
            lambda f: change_json(f / "config.json", model_type="nova", auto_map={"AutoModel": "m.X"}),
            "trust_remote_code=True",
        ),
        (lambda f: change_json(f / "tokenizer_config.json", pad_token=None), "not a fast one with a padding token"),
        (lambda f: change_json(f / "config.json", num_hidden_layers=9), "the weights do not fit the configuration"),
        (lambda f: (f / "model.safetensors").write_bytes(b"nothing"), "the weights cannot be opened"),
        (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    ],
)
def test_what_is_no_encoder_of_text_is_one_clear_line(tmp_path, damage, message):
    folder = write_transformer(tmp_path / "bert")
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        SentenceEncoder.from_pretrained(folder)
    assert "\n" not in str(caught.value) and caught.value.remedy and len(str(caught.value)) < 700


TRANSFORMER = {"type": "sentence_transformers.models.Transformer", "path": "", "name": "0"}
POOLING = {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling", "name": "1"}


@pytest.mark.parametrize(
    ("modules", "pooling", "message"),
    [
        ([TRANSFORMER, POOLING], {"pooling_mode": "median"}, "median"),
        ([{**TRANSFORMER, "path": "../elsewhere"}], None, "without a folder in this one"),
    ],
)
def test_modules_that_cannot_be_followed_are_refused(bert, tmp_path, modules, pooling, message):
    write_transformer(tmp_path)
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling or {}))
    with pytest.raises(ModelError, match=message):
        SentenceEncoder.from_pretrained(tmp_path)


def test_without_the_library_or_safetensors_its_own_modules_are_one_clear_line(bert, tmp_path, monkeypatch):
    write_modules(tmp_path, lambda modules: [static(modules), modules.Dense(16, 6)])
    weights = next(tmp_path.glob("*Dense/model.safetensors"))
    torch.save({}, weights.with_name("pytorch_model.bin"))
    SentenceEncoder.from_pretrained(tmp_path)
    weights.unlink()
    with pytest.raises(ModelError, match=r"Dense: it has no model\.safetensors"):
        SentenceEncoder.from_pretrained(tmp_path)
    monkeypatch.setattr("hf_paraphrase.encoders.backends.sentence_transformers_pipeline.find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install sentence-transformers"):
        SentenceEncoder.from_pretrained(tmp_path)


def test_code_of_a_folder_runs_only_if_it_is_trusted(tmp_path, monkeypatch):
    folder = write_transformer(tmp_path / "bert")
    ran = tmp_path / "ran"
    (folder / "own.py").write_text(
        f"open({str(ran)!r}, 'w')\nfrom transformers import BertConfig, BertModel\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class Own(BertModel):\n    config_class = OwnConfig\n"
    )
    change_json(folder / "config.json", auto_map={"AutoModel": "own.Own", "AutoConfig": "own.OwnConfig"})
    # A known type is what transformers knows it as.
    expected = SentenceEncoder.from_pretrained(folder).encode(TEXTS)
    change_json(folder / "config.json", model_type="own")
    with pytest.raises(ModelError, match="needs the code that it brings"):
        SentenceEncoder.from_pretrained(folder)
    assert not ran.exists()
    (tmp_path / "text").write_text("\n".join(TEXTS))
    words = ["encode", "--model", str(folder), "--input", str(tmp_path / "text")]
    assert main(words) == 2 and not ran.exists()
    monkeypatch.setenv("HF_PARAPHRASE_TRUST_REMOTE_CODE", "")
    assert main(["--trust-remote-code", *words]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "text.npy"), expected, atol=1e-6)
    trusted = SentenceEncoder.from_pretrained(folder, trust_remote_code=True)
    assert ran.exists()
    np.testing.assert_allclose(trusted.encode(TEXTS), expected, atol=1e-6)


EVIL = """
import torch
open({!r}, "w")
class Evil(torch.nn.Identity):
    load = classmethod(lambda cls, *a, **k: cls())
"""
OPEN = """
import sys, warnings
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.errors import ModelError
try:
    SentenceEncoder.from_pretrained(sys.argv[1])
except ModelError as error:
    print(error)
"""


@pytest.mark.parametrize("named_by", ["modules", "router", "activation"])
def test_classes_that_a_folder_names_run_only_if_it_is_trusted_whatever_the_library(
    tmp_path, run_python, named_by, monkeypatch
):
    folder, ran = tmp_path / "folder", tmp_path / "ran"
    for path in ("", "1_Dense", "2_Router"):
        (folder / path).mkdir(parents=True, exist_ok=True)
    types = [f"sentence_transformers.models.{name}" for name in ("StaticEmbedding", "Dense", "Router")]
    static(pytest.importorskip("sentence_transformers.models")).save(str(folder))
    configs = {"1_Dense": {"in_features": 16, "out_features": 4}, "2_Router": {"types": {}}}
    if named_by == "modules":
        types[1:] = ["evil_mod.Evil"]
        (folder / "config.json").write_text("{}")
    elif named_by == "router":
        configs["2_Router"]["types"] = {"query_0": "evil_mod.Evil"}
    else:
        configs["1_Dense"]["activation_function"] = "evil_mod.Evil"
    for path, config in configs.items():
        name = "router_config.json" if path == "2_Router" else "config.json"
        (folder / path / name).write_text(json.dumps(config))
    paths = ["", "1_Dense", "2_Router"]
    modules = [{"idx": i, "name": str(i), "path": paths[i], "type": kind} for i, kind in enumerate(types)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "evil_mod.py").write_text(EVIL.format(str(ran)))
    printed = run_python(OPEN, folder, folder=folder)
    assert "evil_mod.Evil, which is third-party code" in printed.stdout and not ran.exists()
    # It is refused before sentence-transformers, whose versions below 6 would import it, sees the folder.
    monkeypatch.setattr("sentence_transformers.SentenceTransformer.__init__", lambda *a, **k: pytest.fail("opened"))
    with pytest.raises(ModelError, match="trust_remote_code=True"):
        SentenceEncoder.from_pretrained(folder)


LETTER_COUNTS = """
import torch

class Letters(torch.nn.Module):
    max_seq_length = None

    @classmethod
    def load(cls, *args, **options):
        return cls()

    def preprocess(self, inputs, prompt=None, **options):
        return self.tokenize([(prompt or "") + text for text in inputs])

    def tokenize(self, texts, **options):
        return {"input_ids": torch.tensor([[text.count(letter) for letter in "aeiou"] for text in texts])}

    def forward(self, features, **options):
        return features | {"sentence_embedding": features["input_ids"].float()}

    def save(self, *args, **options):
        pass
"""


def test_a_custom_module_without_tokenizer_or_configuration_opens_as_in_sentence_transformers(library, tmp_path):
    (tmp_path / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "letters.Letters"}]')
    (tmp_path / "letters.py").write_text(LETTER_COUNTS)
    (tmp_path / "config.json").write_text("{}")
    expected = library.SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True).encode(TEXTS)
    encoder = SentenceEncoder.from_pretrained(tmp_path, trust_remote_code=True)
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
    assert encoder.tokenizer is None and not encoder.encode([]).size
