"""What training relies on in transformers and accelerate although their documentation does not promise it."""

from __future__ import annotations

import inspect

import accelerate
import pytest
import transformers
from transformers import Trainer, TrainingArguments

USES = [
    (Trainer, "_clip_grad_norm", ["self", "model"], "training/sparse_gradients.py clips sparse gradients there"),
    (
        Trainer,
        "_get_grad_norm",
        ["self", "model", "grad_norm"],
        "training/sparse_gradients.py needs no norm there",
    ),
    (Trainer, "_load_best_model", ["self"], "translation/trainer.py resumes after the last step with it"),
    (Trainer, "_issue_warnings_after_load", ["self", "load_result"], "translation/trainer.py quiets tied weights"),
    (accelerate.Accelerator, "prepare_model", ["self", "model"], "training/sparse_gradients.py replaces it"),
]


@pytest.mark.parametrize(("owner", "name", "parameters", "use"), USES)
def test_a_private_method_is_still_there(owner, name, parameters, use):
    method = getattr(owner, name, None)
    version = f"transformers {transformers.__version__}, accelerate {accelerate.__version__}"
    assert method is not None, f"{version}: {owner.__name__}.{name} is gone; {use}"
    found = list(inspect.signature(method).parameters)
    assert found[: len(parameters)] == parameters, f"{version}: {owner.__name__}.{name} takes {found}; {use}"
    source = inspect.getsource(inspect.getmodule(owner)).replace(f"def {name}", "")
    assert f"self.{name}(" in source, f"{version}: {owner.__name__}.{name} is not called any more; {use}"


def test_the_number_of_gpus_of_a_trainer_is_still_kept_where_it_is_set_to_one(tmp_path):
    arguments = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to="none")
    arguments._n_gpu = 3
    assert arguments.n_gpu == 3, "transformers keeps n_gpu elsewhere; training/devices.py sets _n_gpu"
