from __future__ import annotations

import functools
import gc
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

# The tests' tensors are tiny: threads that share them mostly wait for each other.
# Set before anything imports NumPy or PyTorch, and inherited by the programs that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest
from fresh_python import FreshPython

from hf_paraphrase import register

# The blocking run gives the same verdict every time; HYPOTHESIS_PROFILE=search looks for new inputs at random.
hypothesis.settings.register_profile("blocking", max_examples=30, derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", max_examples=1_000, deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "blocking"))

# No test may use the network, and a busy second core must not slow tests down.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# As the command line does in a log, before anything imports tqdm.
os.environ.setdefault("TQDM_DISABLE", "1")

# The tests open models with the Auto classes; test_model_types.py tests them without this call.
register()

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
# The rows of scripts/reliability/cases.yaml are run by the tests too.
sys.path.append(str(SCRIPTS / "reliability"))


def leave_to_stay():
    """Exclude all present objects from garbage collection, which each training starts."""
    gc.collect()
    gc.freeze()
    if (memory := sys.modules.get("accelerate.utils.memory")) is not None:
        memory.gc = SimpleNamespace(collect=lambda: 0)


LONGEST = {"test_every_verb.py", "test_pages_run.py", "test_readme.py", "test_export.py", "test_paraphrase.py"}
LONGEST |= {"test_distill_run.py", "test_benchmarks.py", "test_evaluate.py"}


def pytest_collection_modifyitems(items):
    """Run the longest files first, so that no process works alone at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish():
    """Exclude the collected tests, thousands of objects."""
    leave_to_stay()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Exclude the libraries that the tests of a file imported, once its fixtures are gone."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        leave_to_stay()
    return result


@pytest.fixture(scope="session")
def real_data_dir() -> Path:
    """The folder with the real corpora; tests that need it carry the marker `real_data`."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"the real corpora are not at {REAL_DATA}")
    return REAL_DATA


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, without a window."""
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed: pip install playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no browser: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def run_python(tmp_path_factory):
    """Run Python programs in their own processes, by `FreshPython`."""
    return FreshPython(tmp_path_factory.mktemp("fresh"))


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory):
    """The outputs of `scripts/reliability/cases.yaml` by name, made once for all test processes at first use."""
    from cases import Outputs
    from forks import run_here

    folder = tmp_path_factory.getbasetemp()
    return Outputs((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "artefacts", run_here)


WORDNET = {
    "noun": {
        ("dog", "domestic_dog"): "a member of the genus Canis (probably from the wolf); occurs in many breeds",
        ("frump", "dog"): 'a dull girl or woman; "she got a reputation as a frump"',
        ("boy", "male_child"): "a youthful male person",
        ("shirt",): "a garment worn on the upper half of the body",
        ("March", "Mar"): "the month following February and preceding April",
        ("march", "marching"): "the act of marching; walking with regular steps",
        ("teacher", "instructor"): "a person whose occupation is teaching",
        ("painter",): "someone who paints or draws pictures",
        ("food", "nutrient"): "any substance that can be metabolized by an animal",
        ("hour",): "a period of time equal to 1/24th of a day",
        ("apple",): "fruit with red or yellow skin",
        ("card",): "a small sheet of paper",
        ("credit",): "an entry on a list of persons",
    },
    "verb": {
        ("start", "begin"): "take the first step or steps in carrying out an action",
        ("go", "travel", "move"): 'change location; "He traveled from North to South"',
        ("sleep", "slumber"): "be asleep",
        ("think", "believe"): "judge or regard",
        ("paint",): "apply paint to",
        ("whisper",): "speak softly",
        ("see",): "perceive by sight or have the power to perceive by sight",
        ("march",): "walk with regular steps",
    },
    "adj": {
        ("tiresome", "boring(a)"): "so lacking in interest as to cause mental weariness",
        ("smart",): "showing mental alertness",
        ("bright", "smart"): "characterized by quickness and ease in learning",
        ("old",): "(used especially of persons) having lived for a relatively long time",
    },
    "adv": {("quickly", "rapidly"): "with rapid movements"},
}
"""Some synsets: their words, in the order of the senses, and their glosses."""


@pytest.fixture(scope="session")
def tiny_wordnet(tmp_path_factory) -> Path:
    """A folder in the format of WordNet 3.0 with a few dozen words."""
    from sample import write_wordnet

    return write_wordnet(tmp_path_factory.mktemp("wordnet") / "dict", WORDNET)


@pytest.fixture
def two_cards(monkeypatch):
    """Return a function that makes torch report two GPUs."""

    def begin():
        import torch

        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)

    return begin


@pytest.fixture
def load_script(monkeypatch):
    """Load a file of `scripts/` by its name, in this process, and return its module."""

    def load(name):
        # Python also searches the folder of a script; here last, as some scripts are named like libraries.
        monkeypatch.setattr(sys, "path", [*sys.path, str((SCRIPTS / name).parent)])
        specification = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, name, module)
        specification.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Makes the folder of a model of transformers' own types when it is first asked for."""
    from seq2seq_models import save_model

    return functools.cache(lambda kind: save_model(kind, tmp_path_factory.mktemp("seq2seq") / kind))
