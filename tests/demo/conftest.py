from __future__ import annotations

import re
import shutil
import socket

import pyarrow as pa
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

SENTENCES = [
    ("the doctor bought a car .", "a car was purchased by the physician ."),
    ("a physician purchased a car .", "the doctor bought a car for his wife ."),
    ("it is raining .", "the rain is falling ."),
    ("the farmer sold the old horse .", "the old horse was sold by the farmer ."),
]


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with an averaging encoder, a GRAN, translation models there and back, and some that do not open."""
    folder = tmp_path_factory.mktemp("demo") / "models"
    torch.manual_seed(0)
    texts = [text for pair in SENTENCES for text in pair]
    words = build_word_level_tokenizer({word for text in texts for word in re.findall(r"\w+|\.", text)})
    avg = AvgModel(AvgConfig(vocab_size=len(words), hidden_size=8, initializer_range=0.5))
    gran = GranModel(GranConfig(vocab_size=len(words), hidden_size=8, initializer_range=0.5))
    for name, model in (("avg", avg), ("gran", gran)):
        model.save_pretrained(folder / name)
        save_tokenizer(words, folder / name)
    pieces = train_bpe_tokenizer(["le médecin a acheté une voiture .", *texts], 90)
    translator = RnnSearchForConditionalGeneration(
        RnnSearchConfig(vocab_size=len(pieces), embedding_size=6, hidden_size=8, initialization="xavier")
    )
    with torch.no_grad():
        for parameter in translator.parameters():
            parameter.normal_(std=0.8)
        # It prefers some words to others and ends its sentences.
        translator.lm_head.bias[:4] = torch.tensor([-100.0, -100.0, 18.0, -100.0])
    for name, languages in (("nmt", ("fr", "en")), ("nmt_back", ("en", "fr"))):
        translator.config.source_lang, translator.config.target_lang = languages
        translator.save_pretrained(folder / name)
        pieces.save_pretrained(folder / name)
    shutil.copytree(folder / "avg", folder / "damaged")
    (folder / "damaged" / "model.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00nonsense")
    shutil.copytree(folder / "avg", folder / ".hidden")
    (folder / "other").mkdir()
    (folder / "other" / "config.json").write_text('{"model_type": "bert"}')
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    return folder


@pytest.fixture(scope="session")
def pairs(tmp_path_factory):
    """A data folder of back-translated pairs: 40 rows, with log-probabilities that rise."""
    folder = tmp_path_factory.mktemp("demo") / "pairs"
    rows = {
        "id": [str(number) for number in range(40)],
        "sentence1": [SENTENCES[number % 4][0] for number in range(40)],
        "sentence2": [SENTENCES[number % 3][1] for number in range(40)],
        "source": ["une phrase"] * 40,
        "source_lang": ["fr"] * 40,
        "rank": [number % 4 for number in range(40)],
        "log_prob": [-20.0 + number / 4 for number in range(40)],
        "num_tokens": [7] * 40,
    }
    write_split(folder, "train", [pa.table(rows, schema=BACK_TRANSLATED)], BACK_TRANSLATED)
    return folder


@pytest.fixture(scope="session")
def gradio():
    """The library of the page."""
    return pytest.importorskip("gradio", reason="gradio is not installed: pip install 'hf-paraphrase[demo]'")


@pytest.fixture(scope="session")
def page_url(gradio, models):
    """The address of a page on the models."""
    from hf_paraphrase.demo.run import DemoSettings, served_page

    with served_page(DemoSettings(models=[str(models)], port=0)) as url:
        yield url


@pytest.fixture
def free_port():
    """A port of this machine that is free."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
