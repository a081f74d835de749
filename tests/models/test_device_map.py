from __future__ import annotations

import pytest
import torch
import transformers

from hf_paraphrase.models.registry import MODELS, config_class, model_class

SIZES = {
    "concatenation": {"vocab_sizes": [5, 6], "part_size": 4},
    "parallel_bigru": {"source_vocab_size": 9, "target_vocab_size": 9, "embedding_size": 4, "hidden_size": 4},
    "reference_classifier": {"vocab_size": 9, "hidden_size": 4, "embedding_size": 4},
    "sentence_classifier": {"sentence_encoder": {"model_type": "avg", "vocab_size": 9, "hidden_size": 4}},
}
USUAL = {"vocab_size": 9, "hidden_size": 4}


@pytest.mark.parametrize("device_map", ["cpu", "auto", {"": "cpu"}])
@pytest.mark.parametrize("model_type", MODELS)
def test_every_model_opens_with_a_device_map_as_without(tmp_path, model_type, device_map):
    torch.manual_seed(0)
    model = model_class(model_type)(config_class(model_type)(**SIZES.get(model_type, USUAL)))
    model.save_pretrained(tmp_path)
    auto_class = getattr(transformers, MODELS[model_type].auto_class)
    opened = auto_class.from_pretrained(tmp_path, device_map=device_map)
    assert type(opened) is type(model)
    found = dict(opened.named_parameters())
    for name, weight in model.named_parameters():
        assert found[name].device.type == "cpu"
        torch.testing.assert_close(found[name], weight, rtol=0, atol=0)
