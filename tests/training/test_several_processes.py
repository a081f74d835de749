from __future__ import annotations

from pathlib import Path

import pytest
import torch
from forked_processes import TWO_PROCESSES
from safetensors.torch import load_file
from several_processes_worker import GRADIENTS, ROWS, gradient

from hf_paraphrase.training.joining import check_in_common, lost_processes_told

needs_gloo = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(), reason="torch lacks gloo"
)


@pytest.fixture(scope="module")
def together(tmp_path_factory, run_python):
    """The folder in which two processes left what they did."""
    output = tmp_path_factory.mktemp("gradients")
    done = run_python(TWO_PROCESSES, Path(__file__).with_name("several_processes_worker.py"), output)
    assert done.returncode == 0, done.stderr[-3000:]
    return output


@needs_gloo
@pytest.mark.parametrize("name", [name for name, found in GRADIENTS.items() if found != (None, None)])
def test_the_gradient_on_every_process_is_the_mean_of_all_with_zeros_for_those_that_have_none(together, name):
    found = [load_file(together / f"gradients {process}.safetensors")[name] for process in range(2)]
    had = [gradient(name, process) for process in range(2)]
    total = torch.zeros(ROWS, 4, dtype=found[0].dtype)
    for item in had:
        total += 0 if item is None else item.to_dense()
    assert torch.equal(*found)
    torch.testing.assert_close(found[0], total / 2, rtol=1e-6, atol=1e-7)


@needs_gloo
def test_a_parameter_without_a_gradient_anywhere_or_frozen_keeps_none(together):
    found = load_file(together / "gradients 0.safetensors")
    assert not {"none", "frozen"} & found.keys()


@needs_gloo
def test_of_sparse_gradients_every_row_that_occurs_travels_once(together):
    found = [load_file(together / f"gradients {process}.safetensors") for process in range(2)]
    for item in found:
        sparse = [name for name, is_sparse in zip(GRADIENTS, item["is sparse"], strict=True) if is_sparse]
        assert sparse == ["rows on both", "rows on one", "no rows on one"]
    # The numbers of the rows, then what they hold.
    assert [item["rows sent"].tolist() for item in found] == [[2, 2, 1, 1, 1, 1], [2, 2, 0, 0, 0, 0]]


@needs_gloo
def test_processes_with_other_inputs_or_without_the_folder_of_the_first_are_refused_on_all_of_them(together):
    for process in range(2):
        fine, others, blind = (together / f"said {process}").read_text().split("\n")[:3]
        assert fine == ""
        assert others.startswith("settings or inputs of process 1 are not those of process 0 (start the same command")
        assert f"of process {process}: process 1 does not see this folder of process 0 (give an --output" in blind


@needs_gloo
def test_that_another_process_has_ended_is_said_in_one_line_and_other_errors_stay(together):
    lost, own = (together / "said 0").read_text().split("\n")[3:]
    assert lost.startswith("another process of this training has ended") and "--resume" in lost
    assert own == "of its own"


def test_one_process_has_everything_in_common_with_itself_and_loses_none(tmp_path, monkeypatch):
    # As in a torch that was built without it.
    monkeypatch.delattr(torch.distributed, "DistError")
    check_in_common("00" * 32, tmp_path / "absent")
    with pytest.raises(RuntimeError, match="/gloo/"), lost_processes_told():
        raise RuntimeError("/gloo/ of something else")
