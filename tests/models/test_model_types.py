from __future__ import annotations

import pytest

from hf_paraphrase.models.registry import MODELS

CHECK = """
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM
from hf_paraphrase.models import AvgConfig, AvgModel
from hf_paraphrase.models import GranConfig, GranModel
from hf_paraphrase.models import RecurrentConfig, RecurrentModel
from hf_paraphrase.models import RnnSearchConfig, RnnSearchForConditionalGeneration
from hf_paraphrase.models import SdaeConfig, SdaeModel
for name, config in (("avg", AvgConfig), ("gran", GranConfig), ("rnn_search", RnnSearchConfig)):
    assert type(AutoConfig.for_model(name)) is config
small = {"vocab_size": 9, "hidden_size": 4}
assert type(AutoModel.from_config(AvgConfig(**small))) is AvgModel
assert type(AutoModel.from_config(GranConfig(**small))) is GranModel
assert type(AutoModel.from_config(RecurrentConfig(**small))) is RecurrentModel
assert type(AutoModel.from_config(SdaeConfig(**small))) is SdaeModel
assert type(AutoModelForSeq2SeqLM.from_config(RnnSearchConfig(**small))) is RnnSearchForConditionalGeneration
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


def test_every_model_folder_of_the_package_is_registered():
    from pathlib import Path

    import hf_paraphrase.models

    folders = {
        path.stem.removeprefix("configuration_")
        for path in Path(hf_paraphrase.models.__file__).parent.glob("configuration_*.py")
    }
    assert folders == set(MODELS)
