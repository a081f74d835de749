from __future__ import annotations

from pathlib import Path

import pytest
from fresh_python import FreshPython, Server

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
ORDERS = {
    "Auto classes first": "from transformers import AutoModel\nimport hf_paraphrase\n" + CHECK,
    # A modeling file imported first pulls in transformers, and transformers may pull in its Auto classes: a circle.
    "RNNsearch's modeling file first": "import hf_paraphrase.models.modeling_rnn_search\n" + CHECK,
}


@pytest.fixture(scope="module")
def without_auto_classes(tmp_path_factory):
    """Runs programs that have torch and a part of transformers, of its Auto classes none yet."""
    libraries = ("torch._dynamo", "torch.distributed.tensor", "torch.distributed.checkpoint", "scipy.optimize")
    libraries += ("accelerate", "transformers.integrations.accelerate")
    server = Server(libraries)
    yield FreshPython(server.address, tmp_path_factory.mktemp("fresh"))
    server.close()


def test_the_auto_classes_know_our_models_if_they_are_imported_first(run_python):
    # The programs of this fixture begin with them.
    result = run_python("import sys\nassert 'transformers.models.auto.modeling_auto' in sys.modules\n" + CHECK)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("order", ORDERS)
def test_the_auto_classes_know_our_models_whatever_is_imported_first(order, without_auto_classes):
    nothing_yet = "import sys\nassert not any(name.startswith('transformers.models.auto') for name in sys.modules)\n"
    result = without_auto_classes(nothing_yet + ORDERS[order])
    assert result.returncode == 0, result.stderr


def test_every_model_file_of_the_package_is_registered():
    files = Path(hf_paraphrase.models.__file__).parent.glob("configuration_*.py")
    assert {path.stem.removeprefix("configuration_") for path in files} == set(MODELS)
