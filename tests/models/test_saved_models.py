"""Saved models open by the Auto classes, with the package and, by the code in the folder, without it."""

from __future__ import annotations

import inspect

import pytest
import torch
import transformers
from small_models import CASES, output_of, small_model

from hf_paraphrase.models.registry import MODELS

# The function of this folder's helper travels as text, because the helper imports the package.
ELSEWHERE = """
import sys, torch, transformers
{function}
for number, auto_class in enumerate(sys.argv[1:]):
    model = getattr(transformers, auto_class).from_pretrained(str(number), trust_remote_code=True).eval()
    assert type(model).__module__.startswith("transformers_modules")
    expected = torch.load(str(number) + ".pt", weights_only=True)
    torch.testing.assert_close(output_of(model, [3, 8]), expected, atol=1e-6, rtol=0)
assert "hf_paraphrase" not in sys.modules
"""


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


def test_every_model_opens_where_the_package_is_not(tmp_path, run_python):
    for number, case in enumerate(CASES):
        model = small_model(*case)
        model.save_pretrained(tmp_path / str(number))
        torch.save(output_of(model, [3, 8]).detach(), tmp_path / f"{number}.pt")
    auto_classes = [MODELS[model_type].auto_class for model_type, _ in CASES]
    script = ELSEWHERE.format(function=inspect.getsource(output_of))
    result = run_python(script, *auto_classes, folder=tmp_path)
    assert result.returncode == 0, result.stderr
