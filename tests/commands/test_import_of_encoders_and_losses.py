"""A file of the user brings an encoder and a loss: `hf-paraphrase --import FILE train-encoder …`."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from transformers import AutoModel, AutoTokenizer

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError

OWN = """
import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling
from hf_paraphrase.registry import ENCODERS, LOSSES

class ToyConfig(PreTrainedConfig):
    model_type = "toy"

    def __init__(self, vocab_size=2, hidden_size=4, **settings):
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        super().__init__(**settings)

@ENCODERS.register("toy")
class ToyModel(PreTrainedModel):
    config_class = ToyConfig

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = torch.nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, ToyModel):
            torch.nn.init.normal_(module.embeddings)

    def forward(self, input_ids, attention_mask):
        tokens = self.embeddings[input_ids] * attention_mask[..., None]
        return BaseModelOutputWithPooling(last_hidden_state=tokens, pooler_output=tokens.sum(1))

@LOSSES.register("mine")
class SoftmaxLoss(torch.nn.Module):
    def forward(self, vectors):
        first, second = torch.nn.functional.normalize(vectors, dim=1).chunk(2)
        return torch.nn.functional.cross_entropy(first @ second.T / 0.2, torch.arange(len(first)))
"""


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
    own = ("--model-type", "toy", "--loss", "mine", "--hidden-size", "6")
    runs = (
        ("--import", "my_encoders.py", *train, "model", *own, "--epochs", "2"),
        ("encode", "--model", "model", "--input", "text.txt", "--output", "v.npy"),
        (*train, "other", "--loss", "mine", "--negatives-from", "opposite"),
        (*train, "other", "--loss", "mine", "--margin", "1"),
    )
    done = run_python(SCRIPT, json.dumps(runs), folder=folder)
    codes = [line.rpartition(" ")[2] for line in done.stderr.splitlines() if line.startswith("exit code")]
    assert codes == ["0", "0", "2", "2"], done.stderr
    assert (folder / "model" / "my_encoders.py").read_text() == OWN
    assert "| loss | SoftmaxLoss |" in (folder / "model" / "README.md").read_text()
    vectors = np.load(folder / "v.npy")
    assert vectors.shape == (2, 6) and np.isfinite(vectors).all() and vectors.any(1).all()
    with pytest.raises(ModelError, match="type `toy` needs the code that it brings"):
        SentenceEncoder.from_pretrained(folder / "model")
    # Somebody else has its code from the folder alone.
    model = AutoModel.from_pretrained(folder / "model", trust_remote_code=True)
    ids = AutoTokenizer.from_pretrained(folder / "model")(["a1 a2", "b3"], padding=True, return_tensors="pt")
    found = model(ids["input_ids"], ids["attention_mask"]).pooler_output.detach().numpy()
    np.testing.assert_allclose(found, vectors, atol=1e-6)
    assert "--negatives-from is not for --loss mine" in done.stderr
    assert "--margin is not for --loss mine" in done.stderr
    assert "word-trigram,toy" in done.stdout and "contrastive,mine" in done.stdout
