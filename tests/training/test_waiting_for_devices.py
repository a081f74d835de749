"""How often a GPU would be waited for, and that what runs there gives what the processor gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch.utils import backend_registration

PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); import device_scenarios as d; d.main(sys.argv[2:])"
SCENARIOS = {
    # A step of training asks for nothing.
    "avg": 0,
    "avg, dense": 0,
    "avg, relative": 0,
    "translation": 0,
    # How many sentences still run at each step is needed to start the steps.
    "gran": 1,
    # A step of a search asks whether all sentences are done.
    "beam": 1,
    # A batch is encoded to be copied back.
    "encode avg": 0,
    "encode gran": 2,
}
BATCH = 3
"""Tensors of a batch, each of which is copied to the device."""


@pytest.fixture(scope="module")
def found(run_python, tmp_path_factory):
    if not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
        pytest.skip("this torch has no devices that are written in Python")
    done = run_python(PROGRAM, Path(__file__).parent, *SCENARIOS, folder=tmp_path_factory.mktemp("runs"))
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_device_is_waited_for_no_more_often_than_a_step_needs(found, scenario):
    waits = found[scenario]["waits"]
    assert sum(waits.values()) == SCENARIOS[scenario], waits


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_a_device_computes_is_what_the_processor_does(found, scenario):
    assert found[scenario]["difference"] < 1e-4


@pytest.mark.parametrize("scenario", ["avg", "avg, dense", "gran", "translation"])
def test_what_a_training_step_copies_to_a_device_is_its_batch(found, scenario):
    copies = found[scenario]["copies"]
    assert sum(copies.values()) == BATCH, copies
