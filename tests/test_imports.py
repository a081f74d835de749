from __future__ import annotations

import ast
import importlib
import io
import re
import sys
import tokenize
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import hf_paraphrase
from hf_paraphrase.registry import EXPORTS

PACKAGE = Path(hf_paraphrase.__file__).parent

LAYERS = (
    {"commands", "__main__"},
    {"demo", "studies", "exporting", "quickstart_pipeline"},
    {"paraphrasing", "evaluation", "searching", "deduplication", "mining", "hub", "metrics"},
    {"filtering"},
    {"classification"},
    {"encoders", "translation"},
    {"training", "jobs", "vectors"},
    {"data", "tokenization"},
    {"text"},
    {"artefacts"},
    {"models"},
    {"settings", "registry", "inputs"},
    {"errors", "messages", "tables", "threads"},
)
"""What may import what, inside functions too: its own layer, without cycles, and those below."""

EXCEPTIONS = {
    ("encoders", "hub"): "`SentenceEncoder.push_to_hub` publishes as the command `push` does; imported at the call",
}
"""Imports between subpackages that point upwards, each with its reason; one that is gone leaves this list."""

TRAVELLING = {"torch", "transformers", "tokenizers"}
"""What the code of a model may import besides its own folder and the standard library: it travels with the weights."""


class Imports:
    """The import statements of a package's modules, by dotted names, inside functions and for type checkers too."""

    def __init__(self, package):
        self.modules = {}
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package.parent).with_suffix("").parts
            self.modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self.statements = {
            module: self._targets(module, ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            for module, path in self.modules.items()
        }

    def _targets(self, module, nodes):
        found = set()
        for node in nodes:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = self._base(module, node)
                # `from . import name` may mean a module, or something that the package imports at first use.
                lazy = {name: resolve_name(origin, base) for name, origin in EXPORTS.get(base, {}).items()}
                inner = {lazy.get(alias.name, f"{base}.{alias.name}") for alias in node.names}
                found |= (inner & self.modules.keys()) or {base}
        return found

    def _base(self, module, node):
        package = module if self.modules[module].name == "__init__.py" else module.rpartition(".")[0]
        return resolve_name("." * node.level + (node.module or ""), package)


def part_of(module):
    """The subpackage, or the module at the top, that a module of the package belongs to; none for the package."""
    return [*module.split("."), ""][1]


def upward_imports(imports, layers):
    """Maps the pairs of subpackages whose imports point upwards, or that have no layer, to these imports."""
    height = {part: level for level, layer in enumerate(layers) for part in layer}
    root = next(iter(imports.modules))
    upward = {}
    for module, targets in imports.statements.items():
        if module == root:
            continue  # it gives out names of all layers, at first use
        for target in sorted(targets):
            own, other = part_of(module), part_of(target)
            if target.split(".")[0] != root or own == other or target == root:
                continue
            if own not in height or other not in height or height[other] < height[own]:
                upward.setdefault((own, other), []).append(f"{module} imports {target}")
    return upward


def package_graph(imports):
    """Maps each subpackage to the subpackages that it imports, inside functions too."""
    root = next(iter(imports.modules))
    graph = {}
    for module, targets in imports.statements.items():
        inner = {part_of(target) for target in targets if target.startswith(f"{root}.")}
        if module != root:
            graph.setdefault(part_of(module), set()).update(inner - {part_of(module)})
    return graph


def cycle(graph):
    """Finds a cycle; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.fixture(scope="module")
def imports():
    for path in PACKAGE.rglob("__init__.py"):
        importlib.import_module(".".join(path.parent.relative_to(PACKAGE.parent).parts))
    return Imports(PACKAGE)


def test_every_part_of_the_package_has_a_layer_and_imports_point_down_the_layers(imports):
    parts = {part_of(module) for module in imports.modules} - {""}
    # Otherwise: add the new part to LAYERS.
    assert parts - set().union(*LAYERS) == set()
    upward = upward_imports(imports, LAYERS)
    # Otherwise: turn the import round. An exception that is no longer needed leaves EXCEPTIONS.
    assert {pair: lines for pair, lines in upward.items() if pair not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() - upward.keys() == set()


def test_subpackages_do_not_need_each_other_in_a_circle(imports):
    graph = package_graph(imports)
    assert cycle({part: {o for o in others if (part, o) not in EXCEPTIONS} for part, others in graph.items()}) == []


def test_no_module_needs_itself_through_others_not_even_for_types_or_later(imports):
    inner = imports.modules.keys() - {next(iter(imports.modules))}
    assert cycle({module: imports.statements[module] & inner for module in inner}) == []


def test_the_code_of_a_model_imports_nothing_that_does_not_travel_with_it(imports):
    wrong = []
    for module, targets in imports.statements.items():
        folder, _, name = module.rpartition(".")
        # That one file travels with the weights of no model.
        if folder != "hf_paraphrase.models" or name == "registry":
            continue
        for target in targets:
            top = target.split(".")[0]
            if top not in TRAVELLING | sys.stdlib_module_names and target.rpartition(".")[0] != folder:
                wrong.append(f"{module} imports {target}")
    assert wrong == []
    assert any(module.startswith("hf_paraphrase.models.") for module in imports.modules)


def test_the_guard_sees_an_import_that_points_up_and_a_circle(tmp_path):
    upward = ["from .. import top", "import toy.top.module", "def late():\n    from ..top.module import name"]
    for number, statement in enumerate(upward):
        package = tmp_path / str(number) / "toy"
        for name, text in {"top": "from ..base.module import x", "base": statement}.items():
            (package / name).mkdir(parents=True)
            (package / name / "__init__.py").write_text("")
            (package / name / "module.py").write_text(text)
        (package / "__init__.py").write_text("")
        toy = Imports(package)
        upward = upward_imports(toy, ({"top"}, {"base"}))
        assert list(upward) == [("base", "top")] and upward["base", "top"][0].startswith("toy.base.module imports")
        assert cycle(package_graph(toy))
    assert cycle({"a": {"b"}, "b": {"a"}})


# ----- what is never run: no pickle, no eval, no loader that would

ROOT = PACKAGE.parent
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "scripts").glob("*.py"), ROOT / "setup.py"])
DANGEROUS = re.compile(
    r"\b(?:import|from) (?:_?pickle|cPickle|cloudpickle|dill|joblib|marshal|shelve)\b"
    r"|(?<![.\w] )\b(?:eval|exec|compile|__import__) \(|\btorch \. load \((?!.*weights_only = True)"
    r"|allow_pickle = (?!False)|\byaml \. (?:unsafe_|full_)?load(?:_all)? \(|trust_remote_code = True|shell = True"
    r"|\b(?:extractall|unpack_archive) \("
)


def dangerous(source):
    """List dangerous calls and imports in source code, outside of strings and comments."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    left_out = {tokenize.STRING, tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
    code = " ".join(
        "\n" if token.type == tokenize.NEWLINE else token.string for token in tokens if token.type not in left_out
    )
    return DANGEROUS.findall(code)


def test_the_search_finds_what_it_looks_for():
    found = "from dill import loads", "x = eval('1')", "np.load('x', allow_pickle=True)", "yaml.load('x', Loader)"
    also = "torch.load('x', weights_only=False)", "a.from_pretrained('x', trust_remote_code=True)", "a.extractall('x')"
    for source in (*found, *also, "subprocess.run(\n    'x', shell=True)"):
        assert dangerous(source), source
    harmless = "torch.load('x', weights_only=True)\nmodel.eval()\nre.compile('x')\nyaml.safe_load('eval(x)')"
    assert not dangerous(harmless)


def test_no_source_of_the_package_unpickles_evaluates_or_unpacks():
    assert len(SOURCES) > 200
    assert {str(path): found for path in SOURCES if (found := dangerous(path.read_text(encoding="utf-8")))} == {}
