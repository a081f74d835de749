"""One contract for all backends and options: a saved encoder opens as the same encoder, here and elsewhere."""

from __future__ import annotations

import inspect
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_encoders import write_average
from tiny_transformers import static_module, tokenizer_of, write_model2vec, write_modules, write_transformer
from transformers import AutoModel

from hf_paraphrase import SentenceEncoder, encode, export
from hf_paraphrase.encoders.backends.batch_tokenizer import InputProcessing
from hf_paraphrase.errors import UsageError

TEXTS = ["the cat sat on a mat", "A Doctor in Paris.", "", "car", "mat " * 60, "the cats , sat", "in paris on a mat ."]


def from_modules(make):
    def write(folder):
        write_modules(folder, make)
        return folder

    return write


def own(classes, *, special_tokens=False):
    tokenizer = tokenizer_of("bert")
    if not special_tokens:
        tokenizer.backend_tokenizer.post_processor = None
    return lambda folder: write_average(folder, tokenizer, classes=classes, hidden_size=6)


def own_graph(folder):
    pytest.importorskip("onnxruntime")
    return export(model=own("avg")(folder / "model"), output=folder / "graph", format="onnx").folder


class TokenStates(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def third_party_graph(folder):
    """A BERT with weights and a graph, as optimum writes it."""
    pytest.importorskip("onnxruntime")
    folder = SentenceEncoder(write_transformer(folder / "bert", "bert")).save_pretrained(folder / "st")
    (folder / "onnx").mkdir()
    names = ["input_ids", "attention_mask"]
    ids = torch.ones(2, 5, dtype=torch.long)
    torch.onnx.export(
        TokenStates(AutoModel.from_pretrained(folder, attn_implementation="eager")).eval(),
        (ids, ids.clone()),
        str(folder / "onnx" / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "texts", 1: "length"} for name in (*names, "last_hidden_state")},
        dynamo=False,
    )
    return folder


def model2vec(folder):
    write_model2vec(folder, tokenizer_of("bert").backend_tokenizer, max_length=5)
    return folder


FOLDERS = {
    "avg": own("avg"),
    "avg with special tokens": own("avg", special_tokens=True),
    "gran": own("gran"),
    "gran with special tokens": own("gran", special_tokens=True),
    "model2vec": model2vec,
    "static": from_modules(lambda m: [static_module(m)]),
    "normalized static": from_modules(lambda m: [static_module(m), m.Normalize()]),
    "bert": lambda folder: write_transformer(folder, "bert"),
    "pipeline": from_modules(lambda m: [static_module(m), m.Dense(6, 5)]),
    "graph": own_graph,
    "third-party graph": third_party_graph,
}
OPTIONS = {
    "nothing": {},
    "prompts": {"prompts": {"query": "the car ", "mine": "in paris "}, "default_prompt_name": "mine"},
    "similarity": {"similarity_fn_name": "dot"},
    "truncation": {"truncate_dim": 3},
    "length": {"max_seq_length": 2},
    "lower case": {"processing": {"lower_case": True}},
    "normalization": {"processing": {"normalize": True}, "truncate_dim": 4},
}


@pytest.fixture(scope="module", params=FOLDERS)
def source(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder") / "source"
    folder.parent.mkdir(exist_ok=True)
    if "graph" in request.param:
        folder.mkdir()
    return request.param, FOLDERS[request.param](folder)


def opened(name, folder, **options):
    backend = {"backend": "onnx"} if name == "third-party graph" else {}
    return SentenceEncoder(folder, device="cpu", **backend, **options)


def assert_same(one, other):
    for method in ("encode", "encode_query", "encode_document"):
        np.testing.assert_allclose(getattr(one, method)(TEXTS), getattr(other, method)(TEXTS), atol=1e-6)
    np.testing.assert_allclose(one.similarity(TEXTS, TEXTS), other.similarity(TEXTS, TEXTS), atol=1e-5)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_saved_encoder_opens_as_the_same_encoder(library, source, option, tmp_path):
    name, folder = source
    options = dict(OPTIONS[option])
    length, processing = options.pop("max_seq_length", None), options.pop("processing", None)
    if processing and name == "pipeline":
        pytest.skip("a pipeline processes texts by itself")
    encoder = opened(name, folder, **options)
    if length:
        if name == "pipeline":
            pytest.skip("a StaticEmbedding has no length")
        encoder.max_seq_length = length
    if processing:
        encoder.processing = encoder.processing.changed(**processing)
    before = encoder.encode(TEXTS)
    assert isinstance(encoder.device, torch.device) and encoder.tokenizer is encoder.tokenizer and encoder.model
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)
    assert (encoder.is_table, encoder.dimension) == (opened(name, folder).is_table, before.shape[1])
    assert_same(pickle.loads(pickle.dumps(encoder)), encoder)
    again = opened(name, encoder.save_pretrained(tmp_path / "saved"))
    assert_same(again, encoder)
    assert again.options.items() >= {"similarity_fn_name": encoder.similarity_fn_name}.items()
    assert_same(opened(name, again.save_pretrained(tmp_path / "twice")), encoder)
    if "graph" in name or encoder.processing.max_characters or (encoder.is_table and name == "model2vec"):
        return
    trusted = "gran" in name or "special" in name
    theirs = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=trusted)
    texts = [text for text in TEXTS if text]
    for method in ("encode", "encode_query"):
        expected = getattr(theirs, method)(texts)
        np.testing.assert_allclose(getattr(encoder, method)(texts), expected, atol=1e-5)
    np.testing.assert_allclose(encoder.similarity(before, before), theirs.similarity(before, before), atol=1e-5)


def test_constructor_and_from_pretrained_take_the_same_arguments_and_follow_them(tmp_path):
    options = {"prompts": {"q": "the car "}, "default_prompt_name": "q", "truncate_dim": 100}
    for encoder in (SentenceEncoder("builtin", **options), SentenceEncoder.from_pretrained("builtin", **options)):
        assert encoder.options.items() >= options.items()
        np.testing.assert_array_equal(encoder.encode("a cat"), SentenceEncoder().encode("the car a cat")[:100])
    encoder = SentenceEncoder(own("avg")(tmp_path / "avg"), processing=InputProcessing(max_tokens=1))
    np.testing.assert_array_equal(encoder.encode("the cat"), encoder.encode("the"))
    for wrong, match in (
        ({"backend": "tensorflow"}, "backend `tensorflow` is unknown"),
        ({"similarity_fn_name": "cosin"}, "`cosin` is unknown .*did you mean cosine"),
        ({"default_prompt_name": "q"}, "prompt_name `q` is unknown"),
        ({"model_kwargs": {"attn_implementation": "eager"}}, "not for a static table"),
        ({"tokenizer": tokenizer_of("bert")}, "comes with its tokenizer"),
    ):
        with pytest.raises(UsageError, match=match):
            SentenceEncoder("builtin", **wrong)


def test_the_arguments_of_a_transformer_reach_transformers(tmp_path):
    folder = write_transformer(tmp_path / "bert", "bert")
    eager = SentenceEncoder(folder, model_kwargs={"attn_implementation": "eager"}, tokenizer_kwargs={"use_fast": True})
    assert eager.model.transformer.config._attn_implementation == "eager"
    for dtype in ("bf16", "bfloat16", torch.bfloat16):
        assert SentenceEncoder(folder, dtype=dtype).model.dtype == torch.bfloat16
    assert SentenceEncoder(folder, dtype="auto").model.dtype == torch.float32


def test_the_signatures_are_those_of_sentence_transformers(library):
    for method in ("encode", "encode_query", "encode_document"):
        kinds = (SentenceEncoder, library.SentenceTransformer)
        ours, theirs = (inspect.signature(getattr(kind, method)) for kind in kinds)
        positional = [name for name, parameter in theirs.parameters.items() if parameter.kind != parameter.VAR_KEYWORD]
        if method == "encode":
            assert list(ours.parameters)[: len(positional)] == positional
        else:
            assert list(ours.parameters)[:3] == positional[:3]


def test_the_guide_has_every_argument_of_sentence_transformers(library):
    page = (Path(__file__).resolve().parents[2] / "docs" / "use" / "comparison.md").read_text("utf-8")
    named = set(re.findall(r"`(\w+)`", page[page.index("## Arguments") :]))
    for function in (library.SentenceTransformer.__init__, library.SentenceTransformer.encode):
        assert {*inspect.signature(function).parameters} - {"self", "kwargs"} <= named


def test_calls_by_position_name_and_iterator_give_what_sentence_transformers_gives(library, tmp_path):
    prompts = {"query": "the car ", "passage": "in paris "}
    plain = write_transformer(tmp_path / "bert", "bert")
    folder = SentenceEncoder(plain, prompts=prompts, default_prompt_name="passage").save_pretrained(tmp_path / "st")
    encoder = SentenceEncoder(folder, device="cpu")
    theirs = library.SentenceTransformer(str(folder), device="cpu")
    texts = [text for text in TEXTS if text]
    for arguments, options in (
        ((texts, "query"), {}),
        ((texts, None, "on a mat "), {}),
        ((texts, "query", None, 2), {"normalize_embeddings": True}),
        ((), {"sentences": texts}),
        ((), {"inputs": texts, "prompt_name": "passage", "truncate_dim": 3}),
    ):
        for method in ("encode", "encode_query"):
            expected = getattr(theirs, method)(*arguments, **options)
            np.testing.assert_allclose(getattr(encoder, method)(*arguments, **options), expected, atol=1e-5)
    np.testing.assert_array_equal(encoder.encode(iter(texts)), encoder.encode(texts))
    unit = encoder.encode(texts, normalize_embeddings=True)
    np.testing.assert_array_equal(encoder.encode(texts, normalize=True), unit)
    for given in ([texts], [["a cat", "car"]], [["a cat", "car"], "in paris "]):
        ours, expected = encoder.tokenize(*given), theirs.preprocess(*given)
        assert {name: ours[name].tolist() for name in ours} == {name: expected[name].tolist() for name in ours}
    vectors = [side.encode(texts, output_value="token_embeddings") for side in (encoder, theirs)]
    for one, other in zip(*vectors, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    with pytest.raises(UsageError, match="`token` is not supported"):
        encoder.encode(texts, output_value="token")


def test_token_embeddings_of_a_table_have_the_embedding_as_their_mean():
    encoder = SentenceEncoder()
    for vectors, text in zip(encoder.encode(TEXTS, output_value="token_embeddings"), TEXTS, strict=True):
        if text:
            np.testing.assert_allclose(vectors.mean(0), encoder.encode(text), atol=1e-5)
    assert encoder.is_table


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan"])
def test_similarity_functions_are_those_of_sentence_transformers(library, name):
    first, second = np.random.default_rng(0).normal(size=(2, 7, 5)).astype(np.float32)
    theirs = library.SentenceTransformer(modules=[torch.nn.Identity()], similarity_fn_name=name, device="cpu")
    encoder = SentenceEncoder("builtin", similarity_fn_name=name)
    for function in ("similarity", "similarity_pairwise"):
        expected = getattr(theirs, function)(embeddings1=first, embeddings2=second)
        found = getattr(encoder, function)(embeddings1=first, embeddings2=second)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_several_processes_give_the_same_embeddings(tmp_path):
    folder = write_transformer(tmp_path / "bert", "bert")
    for encoder in (SentenceEncoder(), SentenceEncoder(folder, prompts={"q": "the "}, default_prompt_name="q")):
        expected = encoder.encode(TEXTS, truncate_dim=5)
        pool = encoder.start_multi_process_pool(["cpu"])
        for options in ({"pool": pool, "chunk_size": 2}, {"num_processes": 1}, {"device": ["cpu"]}):
            np.testing.assert_allclose(encoder.encode(TEXTS, truncate_dim=5, **options), expected, atol=1e-6)
            if encoder.is_table:
                break
            with pytest.raises(UsageError, match="chunk_size must be at least 1, not 0"):
                encoder.encode(TEXTS, pool=pool, chunk_size=0)
        # The processes have the encoder of another truncation.
        np.testing.assert_allclose(encoder.truncated(5).encode(TEXTS, pool=pool), expected, atol=1e-6)
        with pytest.raises(UsageError, match="the pool has the processes of another encoder"):
            SentenceEncoder().encode(TEXTS, pool=pool)
        encoder.stop_multi_process_pool(pool)
    with pytest.raises(UsageError, match="no devices"):
        SentenceEncoder().encode(TEXTS, device=[])
    assert SentenceEncoder().start_multi_process_pool("cpu").devices == ["cpu"]


@pytest.mark.parametrize("prompts", ["q: ", {"query": None}, ["q: "], {1: "q: "}])
def test_prompts_that_are_no_texts_by_name_are_refused(prompts):
    with pytest.raises(UsageError, match="not a mapping from names to texts"):
        SentenceEncoder(prompts=prompts)
    encoder = SentenceEncoder()
    with pytest.raises(UsageError, match="not a mapping from names to texts"):
        encoder.prompts = prompts
    with pytest.raises(UsageError, match="not a text"):
        encoder.encode(TEXTS, prompt=prompts if not isinstance(prompts, str) else 3)


def test_a_model_is_opened_on_the_best_device_and_a_table_on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("meta"))
    assert SentenceEncoder(write_transformer(tmp_path / "bert", "bert")).device.type == "meta"
    assert SentenceEncoder(own("gran")(tmp_path / "gran")).device.type == "meta"
    assert SentenceEncoder().device.type == "cpu"


@pytest.mark.parametrize("prompt", ["", "the cat "])
def test_unknown_words_alone_embed_to_zeros_with_prompts_too(tmp_path, prompt):
    unknown = ["zzz", "zzz 東京 .", "zzz!"]
    for classes in ("avg", "gran"):
        encoder = SentenceEncoder(own(classes)(tmp_path / classes), prompts={"p": prompt}, default_prompt_name="p")
        vectors = encoder.encode([*unknown, "zzz cat", "."])
        assert vectors.any(1).tolist() == [False, False, False, True, True]
        assert not encoder.similarity(unknown, ["cat"]).any()


def test_folders_of_earlier_versions_open(library, tmp_path):
    folder = own("avg")(tmp_path / "avg")
    expected = SentenceEncoder(folder).encode(TEXTS)
    kind = "hf_paraphrase.encoders.sentence_transformers_module.EncoderModule"
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    np.testing.assert_array_equal(SentenceEncoder(folder).encode(TEXTS), expected)
    theirs = library.SentenceTransformer(str(folder), device="cpu", trust_remote_code=True, prompts={"p": "the "})
    theirs.default_prompt_name = "p"
    theirs.max_seq_length = 2
    encoder = SentenceEncoder(folder, prompts={"p": "the "}, default_prompt_name="p")
    encoder.max_seq_length = 2
    np.testing.assert_allclose(theirs.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


def test_modules_after_an_encoder_of_this_package_are_followed(library, tmp_path):
    folder = SentenceEncoder(own("avg")(tmp_path / "avg")).save_pretrained(tmp_path / "st")
    listed = json.loads((folder / "modules.json").read_text())
    (folder / "1_Dense").mkdir()
    pytest.importorskip("sentence_transformers.models").Dense(6, 3).save(str(folder / "1_Dense"))
    listed.append({"idx": 1, "name": "1", "path": "1_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(listed))
    theirs = library.SentenceTransformer(str(folder), device="cpu")
    texts = [text for text in TEXTS if text]
    np.testing.assert_allclose(SentenceEncoder(folder).encode(texts), theirs.encode(texts), atol=1e-5)


def test_encode_puts_prompts_before_texts_on_the_command_line(tmp_path):
    prompts = {"query": "the car "}
    folder = SentenceEncoder(own("avg")(tmp_path / "avg"), prompts=prompts).save_pretrained(tmp_path / "st")
    (tmp_path / "texts").write_text("\n".join(TEXTS) + "\n")
    for options, expected in (({"prompt_name": "query"}, "query"), ({"prompt": "the car "}, "query"), ({}, None)):
        paths = {"model": str(folder), "input": str(tmp_path / "texts"), "output": str(tmp_path / "v.npy")}
        output = encode(**paths, overwrite=True, **options)
        np.testing.assert_array_equal(np.load(output), SentenceEncoder(folder).encode(TEXTS, expected))
