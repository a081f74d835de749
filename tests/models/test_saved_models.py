"""Saved models open by the Auto classes."""

from __future__ import annotations

import pytest
import torch
import transformers
from small_models import CASES, output_of, small_model

from hf_paraphrase.models.registry import MODELS


@pytest.mark.parametrize("device_map", [None, "auto"])
@pytest.mark.parametrize(("model_type", "settings"), CASES)
def test_every_model_opens_with_its_auto_class_and_computes_the_same(model_type, settings, device_map, tmp_path):
    model = small_model(model_type, settings)
    model.save_pretrained(tmp_path)
    opened = getattr(transformers, MODELS[model_type].auto_class).from_pretrained(tmp_path, device_map=device_map)
    assert type(opened) is type(model) and all(weight.requires_grad for weight in opened.parameters())
    for name, weight in model.state_dict().items():
        assert torch.equal(opened.state_dict()[name], weight), name
    # Not to the last bit: where a matrix lies in memory can change the order of a sum.
    torch.testing.assert_close(output_of(opened.eval(), [3, 8]), output_of(model, [3, 8]), atol=1e-6, rtol=0)
