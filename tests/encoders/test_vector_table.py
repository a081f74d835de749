"""Averaging encoders as tables: equal to their models, and opened without PyTorch wherever nothing is unusual."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from hf_paraphrase.artefacts.model_loading import load_model_folder, load_tokenizer
from hf_paraphrase.encoders import word_averages
from hf_paraphrase.encoders.join import join_encoders
from hf_paraphrase.encoders.kinds import encoder_class
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.vector_table import open_table
from hf_paraphrase.encoders.word_averages import TableAverages, row_means
from hf_paraphrase.errors import ModelError
from hf_paraphrase.export.run import export_encoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_unigram
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer, sentence_vocabulary

TEXTS = [
    "the cat sat on the mat",
    "",
    "A doctor, in Paris: zzz bought the zzz car!",
    "zzz",
    "naïve 東京 cats don't sit",
    "mat " * 700,
]
SENTENCES = [text for text in TEXTS if "zzz" not in text]


def write(folder, tokenizer, **settings):
    torch.manual_seed(len(folder.name))
    config = AvgConfig(
        vocab_size=len(tokenizer),
        hidden_size=7,
        unk_token_id=tokenizer.unk_token_id,
        initializer_range=0.5,
        **settings,
    )
    AvgModel(config).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return str(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("tables")
    words = build_word_level_tokenizer(sentence_vocabulary(SENTENCES))
    trigrams = build_character_trigram_tokenizer(trigram_vocabulary(SENTENCES), skip_unknown=True)
    made = {
        "words": write(root / "words", words, dropout=0.3),
        "skipping": write(root / "skipping", words, skip_unknown=True),
        "pieces": write(root / "pieces", train_encoder_unigram(SENTENCES, 60)),
        "trigrams": write(root / "trigrams", trigrams),
    }
    made["joined"], made["plain"] = str(root / "joined"), str(root / "plain")
    join_encoders(model=[made["words"], made["trigrams"]], weights=[3.0, 1.0], output=made["joined"])
    shutil.copytree(made["joined"], made["plain"])
    change_json(made["plain"], "config.json", part_weights=None)
    for name in ("words", "joined"):
        export_encoder(model=made[name], output=root / f"{name}8", format="safetensors", weights="int8")
        made[f"{name}8"] = str(root / f"{name}8")
    return made


def by_the_model(folder, texts, **options):
    """Embeddings as the model computes them, with its padded batches."""
    model, tokenizer = load_model_folder(folder, encoder_class(Path(folder)))
    ids = tokenizer(texts, add_special_tokens=True)["input_ids"]
    rows = [torch.tensor([row], dtype=torch.long) for row in ids]
    with torch.inference_mode():
        return np.concatenate([model(row, attention_mask=torch.ones_like(row)).pooler_output for row in rows])


@pytest.mark.parametrize(
    "name", ["words", "skipping", "pieces", "trigrams", "joined", "plain", "words8", "joined8", "builtin"]
)
@pytest.mark.parametrize("with_torch", [False, True])
def test_a_table_gives_what_its_model_gives(folders, name, with_torch, monkeypatch):
    if not with_torch:
        monkeypatch.setattr(word_averages, "sys", type("Sys", (), {"modules": {}}))
    encoder = SentenceEncoder.from_pretrained(folders.get(name, name))
    found = encoder.encode(TEXTS)
    vocabulary, unknown_id, special_ids = encoder.vocabulary()
    assert encoder._model is None and encoder._tokenizer is None
    tokenizer = load_tokenizer(encoder.folder, 10**6)
    assert (vocabulary, unknown_id) == (tokenizer.get_vocab(), tokenizer.unk_token_id)
    assert sorted(special_ids) == sorted(tokenizer.all_special_ids)
    np.testing.assert_allclose(found, by_the_model(encoder.folder, TEXTS), atol=1e-6)
    model = encoder.model
    assert not model.training and model.config.hidden_size == found.shape[1] == encoder.dimension
    opened, _ = load_model_folder(encoder.folder, type(model))
    left_out = ("dtype", "_name_or_path", "transformers_version")
    described = [{k: v for k, v in item.config.to_dict().items() if k not in left_out} for item in (model, opened)]
    assert described[0] == described[1] and torch.equal(model.embeddings, opened.embeddings)
    np.testing.assert_array_equal(encoder.encode(TEXTS), found)
    assert encoder.tokenizer(TEXTS[0])["input_ids"] == encoder.tokenize(TEXTS[0])[0]


@pytest.mark.parametrize("columns", [1, 2, 31, 300])
def test_few_texts_have_the_bits_of_many(columns):
    generator = np.random.default_rng(columns)
    table = generator.normal(size=(50, columns)).astype(np.float32)
    lengths = np.array([3, 0, 1, 40, 0, 9, 200, 2, 17, 5] * 4)
    offsets = np.concatenate([[0], lengths.cumsum()])
    ids = generator.integers(0, 50, offsets[-1])
    means = TableAverages(table).prepared()
    many = means(ids, offsets)
    for first, end in ((0, 1), (1, 2), (2, 12), (5, 21), (39, 40)):
        assert end - first <= word_averages._FEW_TEXTS < len(lengths)
        found = means(ids[offsets[first] : offsets[end]], offsets[first : end + 1] - offsets[first])
        np.testing.assert_array_equal(found, many[first:end])
    assert means(ids[:0], offsets[:1]).shape == (0, columns)


def test_few_texts_of_many_tokens_are_not_laid_side_by_side(monkeypatch):
    ids, offsets = np.arange(60) % 50, np.array([0, 40, 60])
    means = TableAverages(np.ones((50, 3), np.float32)).prepared()
    taken = []
    few = word_averages._few_row_means
    monkeypatch.setattr(
        word_averages, "_few_row_means", lambda table, *rows: taken.append(len(rows[0])) or few(table, *rows)
    )
    means(ids, offsets)
    monkeypatch.setattr(word_averages, "_FEW_TOKENS", 59)
    means(ids, offsets)
    assert taken == [60]


@pytest.mark.parametrize("seed", range(5))
def test_means_of_rows_have_the_bits_of_those_of_pytorch(seed):
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(50, 31)).astype(np.float32)
    lengths = generator.integers(0, 9, 40) * (generator.random(40) < 0.8)
    offsets = np.concatenate([[0], lengths.cumsum()])
    ids = generator.integers(0, 50, offsets[-1])
    found = row_means(table, ids, offsets)
    np.testing.assert_array_equal(found, word_averages._row_means_by_torch(table, ids, offsets))
    expected = [table[ids[first:end]].mean(0) if end > first else np.zeros(31) for first, end in pairwise(offsets)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_pytorch_is_imported_when_it_pays_and_changes_nothing(folders, monkeypatch):
    monkeypatch.setattr(word_averages, "sys", type("Sys", (), {"modules": {}}))
    imported = []
    monkeypatch.setattr(word_averages, "import_module", imported.append)
    monkeypatch.setattr(word_averages, "_TOKENS_THAT_PAY", 20)
    encoder = SentenceEncoder.from_pretrained(folders["words"])
    first, second = encoder.encode(TEXTS[:3]), encoder.encode(TEXTS[:3])
    assert not imported
    np.testing.assert_array_equal(encoder.encode(TEXTS[:3]), first)
    np.testing.assert_array_equal(second, first)
    assert imported == ["torch"]


def test_texts_may_hold_the_tokens_of_the_parts_in_any_order():
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    means = TableAverages(table, part_sizes=[2, 4]).prepared()
    found = means(np.array([3, 0, 2, 1, 5]), np.array([0, 4, 4, 5]))
    np.testing.assert_array_equal(found, [[1, 2, 5, 6], [0, 0, 0, 0], [0, 0, 10, 11]])


def change_json(folder, name, **values):
    path = Path(folder) / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def change_weights(folder, change):
    path = Path(folder) / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


DAMAGES = {
    "another size": lambda f: change_json(f, "config.json", vocab_size=5),
    "a dropout of 2": lambda f: change_json(f, "config.json", dropout=2),
    "both dropouts": lambda f: change_json(f, "config.json", dropout=0.1, word_dropout=0.1),
    "an unknown distribution": lambda f: change_json(f, "config.json", initial_distribution="cauchy"),
    "normalize": lambda f: change_json(f, "config.json", normalize=True),
    "no unknown id": lambda f: change_json(f, "config.json", skip_unknown=True, unk_token_id=None),
    "another tensor": lambda f: change_weights(f, lambda w: {**w, "more": torch.zeros(2)}),
    "no tensor": lambda f: change_weights(f, lambda w: {"other": w["embeddings"]}),
    "not a number": lambda f: change_weights(f, lambda w: {"embeddings": w["embeddings"] * float("nan")}),
    "too large": lambda f: change_weights(f, lambda w: {"embeddings": w["embeddings"] + 1e25}),
    "a cut file": lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-4]),
    "a longer file": lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes() + b"0000"),
    "no tokenizer": lambda f: (f / "tokenizer.json").unlink(),
    "a damaged tokenizer": lambda f: (f / "tokenizer.json").write_text("{}"),
    "a token too many": lambda f: change_json(f, "tokenizer_config.json", cls_token="[CLS]"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_refused_as_it_is_for_any_model(folders, tmp_path, damage):
    folder = shutil.copytree(folders["words"], tmp_path / "model")
    DAMAGES[damage](folder)
    with pytest.raises(ModelError) as expected:
        load_model_folder(folder, encoder_class(folder))
    with pytest.raises(ModelError) as found:
        SentenceEncoder.from_pretrained(folder)
    assert str(found.value) == str(expected.value)


UNUSUAL = {
    "half precision": lambda f: change_weights(f, lambda w: {"embeddings": w["embeddings"].half()}),
    "a further setting": lambda f: change_json(f, "config.json", my_note="x"),
    "a further special token": lambda f: change_json(f, "tokenizer_config.json", mask_token="cat"),
    "a file of added tokens": lambda f: (f / "added_tokens.json").write_text("{}"),
}


@pytest.mark.parametrize("change", UNUSUAL)
def test_what_is_unusual_is_opened_as_any_model_is(folders, tmp_path, change):
    folder = shutil.copytree(folders["words"], tmp_path / "model")
    assert open_table(folder, "avg") is not None
    UNUSUAL[change](folder)
    assert open_table(folder, "avg") is None
    assert SentenceEncoder.from_pretrained(folder).encode(TEXTS[:2]).shape == (2, 7)


def test_a_truncated_table_has_the_first_components_and_saves_as_such(folders, tmp_path):
    for name in ("words", "joined"):
        whole = SentenceEncoder.from_pretrained(folders[name])
        found = [SentenceEncoder.from_pretrained(folders[name], truncate_dim=3), whole.truncated(3)]
        for encoder in found:
            np.testing.assert_array_equal(encoder.encode(TEXTS), whole.encode(TEXTS)[:, :3])
    small = SentenceEncoder.from_pretrained(folders["words"], truncate_dim=3)
    opened = SentenceEncoder.from_pretrained(small.save_pretrained(tmp_path / "small"))
    np.testing.assert_array_equal(opened.encode(TEXTS), small.encode(TEXTS))


HEAVY = (
    "torch",
    "transformers",
    "datasets",
    "pyarrow",
    "pandas",
    "scipy",
    "huggingface_hub",
    "tqdm",
    "jinja2",
    "yaml",
)


def imported_by(code, *words):
    """The modules of `HEAVY` that a program imports that nobody has imported anything for."""
    code += f"\nimport sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1].replace("'", '"'))


def test_encoding_and_comparing_take_neither_pytorch_nor_transformers(folders):
    code = (
        "import hf_paraphrase as hp\n"
        "for folder in __import__('sys').argv[1:]:\n"
        "    encoder = hp.SentenceEncoder.from_pretrained(folder)\n"
        "    encoder.encode(['the cat', 'a mat'] * 300)\n"
        "    encoder.similarity('the cat', ['a mat'])\n"
    )
    assert imported_by(code, *folders.values(), "builtin") == []


def test_the_verb_encode_takes_neither_pytorch_nor_transformers(tmp_path):
    (tmp_path / "text").write_text("the cat\n" * 300)
    code = "import sys; from hf_paraphrase.commands import main; assert main(sys.argv[1:]) == 0"
    assert imported_by(code, "encode", "--input", tmp_path / "text") == []
    assert np.load(tmp_path / "text.npy").shape == (300, 512)


def test_a_search_takes_neither_pytorch_nor_transformers(tmp_path):
    (tmp_path / "text").write_text("the cat\nthe dog\nparis\n" * 300)
    code = "import sys; from hf_paraphrase.commands import main; assert main(sys.argv[1:]) == 0"
    found = imported_by(code, "search", "--corpus", tmp_path / "text", "--query", "a cat")
    assert not {"torch", "transformers", "datasets", "pandas"} & set(found)
