"""The package and its scripts never run what they read: no pickle, no eval, no loader that would."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "hf_paraphrase").rglob("*.py"), *(ROOT / "scripts").glob("*.py"), ROOT / "setup.py"])
MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
UNPACKERS = {"extractall", "unpack_archive"}
NAMES = {"eval", "exec", "compile", "__import__"}


def faults(source):
    """Lists what is dangerous in a source text, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            found = {(node.module or "").split(".")[0]} & MODULES
        elif isinstance(node, ast.Call):
            found = set(_fault(node))
        elif isinstance(node, ast.keyword):
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            found = {node.arg} if node.arg == "allow_pickle" and value is not False else set()
        else:
            continue
        yield from ((name, getattr(node, "lineno", 0)) for name in found)


def _fault(call):
    name = ast.unparse(call.func)
    keywords = {word.arg: ast.unparse(word.value) for word in call.keywords}
    last = name.rpartition(".")[2]
    if name in NAMES or last in UNPACKERS:
        yield name
    if name in {"torch.load", "load"} and keywords.get("weights_only") != "True":
        yield name
    if name.startswith("yaml.") and last in {"load", "load_all", "unsafe_load", "full_load"}:
        yield name
    if last == "from_pretrained" and keywords.get("trust_remote_code") == "True":
        yield name
    if last in {"run", "Popen", "call", "check_output"} and keywords.get("shell") == "True":
        yield name


@pytest.mark.parametrize(
    "source",
    [
        "from dill import loads",
        "x = eval('1')",
        "import torch\ntorch.load('x', weights_only=False)",
        "np.load('x', allow_pickle=True)",
        "yaml.load('x', Loader)",
        "AutoModel.from_pretrained('x', trust_remote_code=True)",
        "archive.extractall('x')",
        "subprocess.run('x', shell=True)",
    ],
)
def test_the_search_finds_what_it_looks_for(source):
    assert list(faults(source))


def test_the_search_lets_harmless_code_be():
    assert not list(faults("torch.load('x', weights_only=True)\nmodel.eval()\nnp.load('x')\nyaml.safe_load('x')"))


def test_no_source_of_the_package_unpickles_evaluates_or_unpacks():
    assert len(SOURCES) > 200
    found = [f"{path.relative_to(ROOT)}:{line}: {name}" for path in SOURCES for name, line in faults(path.read_text())]
    # The peer that a benchmark compares with has checkpoints of its own, in an interpreter of its own.
    allowed = ("scripts/benchmarks/joeynmt_worker.py",)
    assert [item for item in found if not item.startswith(allowed)] == []
