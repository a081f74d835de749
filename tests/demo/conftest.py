from __future__ import annotations

import re
import shutil
import socket

import pyarrow as pa
import pytest
from tiny_encoders import write_average, write_translator
from tqdm import tqdm

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.models.configurations import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel

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
    texts = [text for pair in SENTENCES for text in pair]
    words = {word for text in texts for word in re.findall(r"\w+|\.", text)}
    write_average(folder / "avg", words, hidden_size=8)
    write_average(folder / "gran", words, classes=(GranModel, GranConfig), hidden_size=8)
    for name, source, target in (("nmt", "fr", "en"), ("nmt_back", "en", "fr")):
        given = ["le médecin a acheté une voiture .", *texts]
        write_translator(folder / name, given, 90, source_lang=source, target_lang=target)
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


@pytest.fixture(scope="module", autouse=True)
def progress_bars():
    """Restore the methods of progress bars that gradio replaces."""
    before = dict(vars(tqdm))
    yield
    for name, value in before.items():
        if vars(tqdm).get(name) is not value:
            setattr(tqdm, name, value)


@pytest.fixture(scope="session")
def gradio():
    """The library of the page."""
    return pytest.importorskip("gradio", reason="gradio is not installed: pip install 'hf-paraphrase[demo]'")


@pytest.fixture(scope="session")
def page_url(gradio, models):
    """The address of a page on the models."""
    from hf_paraphrase.demo.run import DemoSettings, serve_page

    with serve_page(DemoSettings(models=[str(models)], port=0)) as url:
        yield url


@pytest.fixture
def free_port():
    """A port of this machine that is free."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
