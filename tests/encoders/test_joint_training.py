from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import torch
from fresh_python import TWO_PROCESSES
from joint_worker import RUNS, train
from safetensors.torch import load_file
from tiny_training import sides

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.training.processes import gather_rows, mean_over_processes, wait_for_all

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(), reason="torch lacks gloo"
)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "pairs"
    first, second = sides(23)
    first[7], second[7] = first[3], second[3]
    write_split(folder, "train", [pa.table({"sentence1": first, "sentence2": second})], PAIRS)
    return folder


@pytest.fixture(scope="module")
def together(pairs, tmp_path_factory, run_python):
    """The folder in which two processes left what they computed."""
    output = tmp_path_factory.mktemp("two")
    done = run_python(TWO_PROCESSES, Path(__file__).with_name("joint_worker.py"), pairs, output)
    assert done.returncode == 0, done.stderr[-3000:]
    return output


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_have_the_losses_gradients_and_weights_of_one_with_the_joint_batch(
    together, pairs, tmp_path, name
):
    alone = train(tmp_path, pairs, **{key: value for key, value in RUNS[name].items() if key != "kill"})
    both = [load_file(together / f"{name} {process}.safetensors") for process in range(2)]
    assert both[0].keys() == alone.keys()
    assert all(torch.equal(value, both[1][key]) for key, value in both[0].items() if key != "losses")
    assert alone["losses"][0] > 0 or RUNS[name].get("max_pairs") == 1
    for key, value in alone.items():
        for found in both:
            if key == "losses" and found is both[1]:
                continue  # only the first process logs
            wanted = value[-len(found[key]) :] if key == "losses" and "kill" in RUNS[name] else value
            relative, absolute = (1e-6, 1e-6) if key == "losses" else (1e-10, 1e-12)
            torch.testing.assert_close(
                found[key], wanted, rtol=relative, atol=absolute, msg=lambda text, key=key: key + text
            )


def test_gathered_rows_are_in_the_order_of_processes_and_take_their_gradient_home(together):
    found = [load_file(together / f"gathered {process}.safetensors") for process in range(2)]
    rows = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(found[0]["gathered"], rows) and torch.equal(found[1]["gathered"], rows)
    assert found[0]["gradient"].shape == (0, 3) and torch.equal(found[1]["gradient"], 2 * rows)
    assert found[0]["waited"] and found[1]["waited"]


@pytest.mark.parametrize("process", [0, 1])
def test_processes_with_other_inputs_or_without_the_folder_of_the_first_are_refused_on_all_of_them(together, process):
    fine, others, blind = (together / f"messages {process}").read_text().split("\n")
    assert fine == ""
    assert others.startswith("settings or inputs of process 1 differ from process 0 (start the same command")
    assert f"of process {process}: process 1 does not see this folder of process 0 (give an --output" in blind


def test_one_process_gathers_itself_and_waits_for_nobody():
    wait_for_all()
    rows = torch.randn(3, 2, requires_grad=True)
    assert gather_rows(rows) is rows and not mean_over_processes(rows.sum()).requires_grad
