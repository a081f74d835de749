from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hf_paraphrase.models
from hf_paraphrase.models.registry import MODELS
from hf_paraphrase.tokenization.subword import train_separate_bpe_tokenizer

OPEN = """
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer
import sys
avg = AutoModel.from_pretrained(sys.argv[1] + "/avg")
assert type(avg).__module__ == "hf_paraphrase.models.modeling_avg"
assert type(AutoConfig.from_pretrained(sys.argv[1] + "/rnn_search")).__module__.startswith("hf_paraphrase")
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1] + "/rnn_search")
assert type(tokenizer).__module__ == "hf_paraphrase.models.tokenization_rnn_search"
model = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1] + "/rnn_search")
assert type(model).__module__ == "hf_paraphrase.models.modeling_rnn_search"
"""
CLASSES = "from hf_paraphrase.models import AvgModel, RnnSearchForConditionalGeneration, RnnSearchTokenizer"
ORDERS = {
    "the Auto classes first": "from transformers import AutoModel, AutoTokenizer\nimport hf_paraphrase",
    "our classes first": CLASSES,
    "our classes last": f"from transformers import AutoModel\n{CLASSES}",
    "only configurations": "from transformers import AutoModel\nfrom hf_paraphrase import AvgConfig, RnnSearchConfig\n"
    "import hf_paraphrase.models.tokenization_rnn_search",
    "the package, then one name": "import hf_paraphrase\nfrom transformers import AutoModel\nhf_paraphrase.register()",
}
MODELS_FROM_CONFIGURATIONS = """
import transformers
import hf_paraphrase
from hf_paraphrase.models.registry import MODELS, config_class, model_class
small = {"vocab_size": 9, "hidden_size": 4}
config = hf_paraphrase.SentenceClassifierConfig(sentence_encoder={"model_type": "avg", **small})
assert hf_paraphrase.SentenceClassifier(config).encoder.config.hidden_size == 4
for name in ("avg", "gran", "recurrent", "sdae", "rnn_search"):
    config = config_class(name)
    assert type(transformers.AutoConfig.for_model(name)) is config
    auto_class = getattr(transformers, MODELS[name].auto_class)
    assert type(auto_class.from_config(config(**small))) is model_class(name)
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """An Avg model and a translation model with two tokenizers, saved with their code."""
    root = tmp_path_factory.mktemp("models")
    hf_paraphrase.AvgModel(hf_paraphrase.AvgConfig(vocab_size=9, hidden_size=4)).save_pretrained(root / "avg")
    tokenizer = train_separate_bpe_tokenizer(["un chat"], ["a cat"], 20)
    config = hf_paraphrase.RnnSearchConfig(vocab_size=20, hidden_size=4, embedding_size=4, share_embeddings=False)
    hf_paraphrase.RnnSearchForConditionalGeneration(config).save_pretrained(root / "rnn_search")
    tokenizer.save_pretrained(root / "rnn_search")
    return root


@pytest.mark.parametrize("order", ORDERS)
def test_the_auto_classes_open_our_folders_in_any_order_of_imports(order, folders):
    # Not `run_python`, whose processes have imported transformers.
    command = [sys.executable, "-c", ORDERS[order] + OPEN, folders]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_importing_the_package_where_the_auto_classes_are_loaded_imports_no_model(run_python):
    code = "import sys, transformers.models.auto.tokenization_auto, hf_paraphrase\n"
    result = run_python(code + "print([name for name in sys.modules if name.startswith('hf_paraphrase.models.mod')])")
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


def test_a_model_is_made_from_a_configuration_of_its_type(run_python):
    result = run_python(MODELS_FROM_CONFIGURATIONS)
    assert result.returncode == 0, result.stderr


def test_every_model_file_of_the_package_is_registered():
    files = Path(hf_paraphrase.models.__file__).parent.glob("modeling_*.py")
    assert {path.stem.removeprefix("modeling_") for path in files} == set(MODELS)
