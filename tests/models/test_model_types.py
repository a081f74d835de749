from __future__ import annotations

from pathlib import Path

import pytest

import hf_paraphrase.models
from hf_paraphrase.models.registry import MODELS

CHECK = """
import transformers
from hf_paraphrase.models.registry import MODELS, config_class, model_class
small = {"vocab_size": 9, "hidden_size": 4}
for name in ("avg", "gran", "recurrent", "sdae", "rnn_search"):
    config = config_class(name)
    assert type(transformers.AutoConfig.for_model(name)) is config
    auto_class = getattr(transformers, MODELS[name].auto_class)
    assert type(auto_class.from_config(config(**small))) is model_class(name)
"""

# Forgets the library but for its Auto classes' absence: torch and what else takes long stay.
BEFORE = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] in ("transformers", "accelerate")]:
    del sys.modules[name]
"""
ORDERS = {
    "Auto classes first": "import sys\nassert 'transformers.models.auto.modeling_auto' in sys.modules\n",
    # A modeling file imported first pulls in transformers, and transformers may pull in its Auto classes: a circle.
    "RNNsearch's modeling file first": f"{BEFORE}import hf_paraphrase.models.modeling_rnn_search\n",
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_auto_classes_know_our_models_whatever_is_imported_first(order, run_python):
    result = run_python(ORDERS[order] + CHECK)
    assert result.returncode == 0, result.stderr


def test_every_model_file_of_the_package_is_registered():
    files = Path(hf_paraphrase.models.__file__).parent.glob("configuration_*.py")
    assert {path.stem.removeprefix("configuration_") for path in files} == set(MODELS)
