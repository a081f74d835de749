from __future__ import annotations

from pathlib import Path

import hf_paraphrase.models
from hf_paraphrase.models.registry import MODELS

CHECK = """
import hf_paraphrase, transformers
from hf_paraphrase.models.registry import MODELS, config_class, model_class
small = {"vocab_size": 9, "hidden_size": 4}
try:
    transformers.AutoConfig.for_model("avg")
    raise SystemExit("importing the package registered its models")
except ValueError:
    pass
# A classifier of the package knows the encoders of the package where nothing is registered.
config = hf_paraphrase.SentenceClassifierConfig(sentence_encoder={"model_type": "avg", **small})
assert hf_paraphrase.SentenceClassifier(config).encoder.config.hidden_size == 4
hf_paraphrase.register()
for name in ("avg", "gran", "recurrent", "sdae", "rnn_search"):
    config = config_class(name)
    assert type(transformers.AutoConfig.for_model(name)) is config
    auto_class = getattr(transformers, MODELS[name].auto_class)
    assert type(auto_class.from_config(config(**small))) is model_class(name)
"""


def test_the_auto_classes_know_our_models_after_register_and_not_before(run_python):
    result = run_python(CHECK)
    assert result.returncode == 0, result.stderr


def test_every_model_file_of_the_package_is_registered():
    files = Path(hf_paraphrase.models.__file__).parent.glob("configuration_*.py")
    assert {path.stem.removeprefix("configuration_") for path in files} == set(MODELS)
