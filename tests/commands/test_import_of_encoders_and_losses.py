"""A file of the user brings an encoder and a loss: `hf-paraphrase --import FILE train-encoder …`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders import train_settings
from hf_paraphrase.encoders.kinds import EncoderOptions
from hf_paraphrase.errors import UsageError
from hf_paraphrase.registry import Registry
from hf_paraphrase.settings import Settings, setting

OWN = '''
from dataclasses import dataclass

import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

from hf_paraphrase.encoders.kinds import EncoderKind
from hf_paraphrase.registry import ENCODERS, LOSSES
from hf_paraphrase.settings import Settings, setting


@dataclass(kw_only=True)
class ToyOptions(Settings):
    sharpness: float | None = setting("how much the longest vectors count [default: 1]", None, above=0)


@dataclass(kw_only=True)
class CosineOptions(Settings):
    temperature: float | None = setting("divides the cosines [default: 0.1]", None, above=0)


class ToyConfig(PreTrainedConfig):
    model_type = "toy"

    def __init__(self, vocab_size=2, hidden_size=4, sharpness=1.0, **settings):
        self.vocab_size, self.hidden_size, self.sharpness = vocab_size, hidden_size, sharpness
        super().__init__(**settings)


class ToyModel(PreTrainedModel):
    """The mean of word vectors, each weighted by its length."""

    config_class = ToyConfig

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = torch.nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, ToyModel):
            torch.nn.init.normal_(module.embeddings)

    def forward(self, input_ids, attention_mask):
        vectors = self.embeddings[input_ids]
        weights = vectors.norm(dim=-1, keepdim=True) ** self.config.sharpness * attention_mask[..., None]
        tokens = vectors * weights
        return BaseModelOutputWithPooling(last_hidden_state=tokens, pooler_output=tokens.sum(1) / weights.sum(1))


ENCODERS.register("toy")(EncoderKind(ToyModel, epochs=2, options=ToyOptions))


@LOSSES.register("mine")
class SoftmaxLoss(torch.nn.Module):
    options = CosineOptions

    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, vectors):
        first, second = torch.nn.functional.normalize(vectors, dim=1).chunk(2)
        return torch.nn.functional.cross_entropy(first @ second.T / self.temperature, torch.arange(len(first)))
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("own")
    (path / "my_encoders.py").write_text(OWN)
    generator = np.random.default_rng(0)
    rows = [generator.integers(20, size=4) for _ in range(60)]
    sides = [[" ".join(f"{letter}{x}" for x in row) for row in rows] for letter in "ab"]
    write_split(path / "pairs", "train", [pa.table({"sentence1": sides[0], "sentence2": sides[1]})], PAIRS)
    (path / "text.txt").write_text("a1 a2\nb3\n")
    return path


SCRIPT = """
import json, sys
from hf_paraphrase.commands import main

for words in json.loads(sys.argv[1]):
    sys.stderr.write(f"exit code {main(words)}\\n")
main(["--import", "my_encoders.py", "train-encoder", "--help"])
"""


def test_an_encoder_and_a_loss_from_a_file_are_trained_and_put_to_use(folder, run_python):
    train = ("train-encoder", "--pairs", "pairs", "--output")
    own = ("--model-type", "toy", "--loss", "mine", "--hidden-size", "6", "--sharpness", "2", "--temperature", "0.2")
    runs = (
        ("--import", "my_encoders.py", *train, "model", *own, "--learning-rate", "0.05"),
        ("encode", "--model", "model", "--input", "text.txt", "--output", "v.npy"),
        (*train, "other", "--sharpness", "2"),
        (*train, "other", "--loss", "mine", "--negatives", "mix"),
        (*train, "other", "--loss", "mine", "--margin", "1"),
        (*train, "other", "--temperature", "0.2"),
    )
    done = run_python(SCRIPT, json.dumps(runs), folder=folder)
    codes = [line.rpartition(" ")[2] for line in done.stderr.splitlines() if line.startswith("exit code")]
    assert codes == ["0", "0", "2", "2", "2", "2"], done.stderr
    record = json.loads((folder / "model" / "provenance.json").read_text())
    assert record["settings"]["temperature"] == 0.2 and record["settings"]["epochs"] == 2
    assert json.loads((folder / "model" / "config.json").read_text())["sharpness"] == 2
    assert (folder / "model" / "my_encoders.py").read_text() == OWN
    assert "| loss | SoftmaxLoss |" in (folder / "model" / "README.md").read_text()
    vectors = np.load(folder / "v.npy")
    assert vectors.shape == (2, 6) and np.isfinite(vectors).all() and vectors.any(1).all()
    assert "--sharpness is not for --model-type avg (leave it out, or train toy)" in done.stderr
    assert "--negatives is for --loss margin: the mine loss searches none" in done.stderr
    assert "--margin is not for --loss mine" in done.stderr
    assert "--temperature is for --loss mine (leave it out)" in done.stderr
    assert "how much the longest vectors count" in done.stdout
    assert "word-trigram,toy" in done.stdout and "contrastive,mine" in done.stdout


def test_the_losses_are_asked_for_options_without_importing_those_that_have_none():
    program = "import sys, hf_paraphrase.encoders.train\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n", done.stderr


def test_an_option_that_the_verb_has_already_is_refused(monkeypatch):
    @dataclass(kw_only=True)
    class Options(Settings):
        batch_size: float = setting("not the verb's", 0.5)

    class Loss(torch.nn.Module):
        options = Options

    monkeypatch.setattr(train_settings, "LOSSES", Registry("loss", {}))
    train_settings.LOSSES.register("mine")(Loss)
    with pytest.raises(UsageError, match=r"--batch-size is an option of the verb \(give yours another name\)"):
        train_settings.train_encoder_settings()
    # One that extends options of ours has them by inheritance.
    Loss.options = dataclass(kw_only=True)(type("More", (EncoderOptions,), {}))
    assert "cell" in train_settings.train_encoder_settings().__dataclass_fields__
