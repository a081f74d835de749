from __future__ import annotations

import collections
import configparser
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import hf_paraphrase
from hf_paraphrase import errors, registry
from hf_paraphrase.commands import VERBS, main
from hf_paraphrase.commands.verbs import all_recipes
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.registry import Registry, import_file

PACKAGE = Path(hf_paraphrase.__file__).parent
WORKFLOWS = sorted((PACKAGE.parent / ".github/workflows").glob("*.yml"))
SUBPACKAGES = sorted(
    ".".join(path.parent.relative_to(PACKAGE.parent).parts)
    for path in PACKAGE.glob("**/__init__.py")
    if "lazy_exports(" in path.read_text() and path.parent != PACKAGE
)


def test_importing_the_package_imports_none_of_the_heavy_libraries():
    script = (
        "import sys, hf_paraphrase.commands, hf_paraphrase.encoders.encode_file\n"
        f"import {', '.join(SUBPACKAGES)}\n"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'pyarrow', 'evaluate', 'accelerate', 'yaml'}\n"
        "heavy |= {'filelock', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_the_version_is_stated_once_and_the_citation_repeats_it():
    root = PACKAGE.parent
    assert f"\nversion: {hf_paraphrase.__version__}\n" in (root / "CITATION.cff").read_text()
    assert "\nversion = attr: hf_paraphrase.__version__\n" in (root / "setup.cfg").read_text()


def test_every_public_name_resolves_and_is_listed():
    for name in hf_paraphrase.__all__:
        assert getattr(hf_paraphrase, name) is not None
        assert name in dir(hf_paraphrase)
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        hf_paraphrase.Missing  # noqa: B018


@pytest.mark.parametrize("name", SUBPACKAGES)
def test_a_subpackage_says_what_it_holds_and_every_public_name_imports(name):
    package = importlib.import_module(name)
    assert len(re.findall(r"[a-z`)]\.(?=\s)", package.__doc__)) >= 2, package.__doc__
    for public in package.__all__:
        value = getattr(package, public)
        # The import of a module of the same name would replace the object.
        assert value.__module__.startswith("hf_paraphrase.") and importlib.util.find_spec(f"{name}.{public}") is None
        assert public in dir(package)


def test_the_function_of_a_command_has_its_name():
    # The function would be taken for the subpackage `demo`.
    exceptions = {"demo": "launch_demo", "deduplicate": "deduplicate_files", "paraphrase": "paraphrase_file"}
    names = {typed: recipe.__name__ for typed, recipe in all_recipes().items()}
    assert names == {typed: exceptions.get(typed, re.sub("[ -]", "_", typed)) for typed in names}
    public = {typed for typed in names if hasattr(hf_paraphrase, names[typed])}
    assert {typed for typed in names.keys() - public if not typed.startswith("prepare ")} == set()


# ----- registries


def test_an_entry_is_imported_when_it_is_asked_for():
    dishes = Registry("dish", {"soup": "collections:OrderedDict", "broken": "no_such_module:Name"})
    assert list(dishes) == ["soup", "broken"] and "broken" in dishes and len(dishes) == 2
    assert dishes["soup"] is collections.OrderedDict
    with pytest.raises(ModuleNotFoundError):
        dishes["broken"]
    with pytest.raises(UsageError, match=r"there is no dish `sope` \(did you mean soup\? One of soup, broken\)"):
        dishes["sope"]


def test_a_name_is_given_once_but_a_file_may_be_imported_again():
    dishes = Registry("dish", {})

    @dishes.register("stew")
    class Stew: ...

    first = Stew

    @dishes.register("stew")
    class Stew: ...

    assert dishes["stew"] is Stew and Stew is not first
    with pytest.raises(UsageError, match="there is a dish `stew` already"):
        dishes.register("stew")(dict)


def test_every_line_of_the_registries_leads_to_something_with_a_summary():
    for known in (value for value in vars(registry).values() if isinstance(value, Registry)):
        assert all(known[name] is not None and known.summary(name) for name in known)


def test_a_file_of_the_user_that_fails_is_one_line_and_is_forgotten(tmp_path, capsys):
    bad = tmp_path / "bad.py"
    bad.write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"bad.py: import failed: ZeroDivisionError: division by zero"):
        import_file(bad)
    assert "hf_paraphrase_import.bad" not in sys.modules
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(InputError, match=r"not a Python file .*ends in \.py"):
        import_file(tmp_path / "text.txt")
    assert main(["--import", str(bad), "env"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# ----- the command line


def test_without_a_verb_there_is_an_overview_on_standard_output(capsys):
    assert main([]) == main(["--help"]) == main(["-h"]) == 0
    out, err = capsys.readouterr()
    listed = re.findall(r"^  ([\w-]+)  +\S", out, flags=re.MULTILINE)
    assert err == "" and listed == [*VERBS] * 3


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_an_unknown_flag_is_one_line(verb, capsys):
    try:
        code = main([verb, "--help"])
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert not code and err == "" and f"hf-paraphrase {verb}" in out
    assert main([verb, "--no-such-flag", "1"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("hf-paraphrase: error: ")


@pytest.mark.parametrize("switch", ["-h", "--help", "--help-all"])
def test_the_help_of_a_command_with_kinds_lists_them(switch, capsys):
    assert main(["prepare", switch]) == main(["analyze", switch]) == 0
    out, _ = capsys.readouterr()
    assert {"bitext", "sts", "pairs", "gates"} <= {*re.findall(r"^  ([\w-]+)  +\S", out, flags=re.MULTILINE)}


def test_what_one_process_must_do_alone_is_refused_in_several(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["filter", "--pairs", "nowhere", "--output", "x"]) == 2
    assert "process" not in capsys.readouterr().err, "a cluster's variable alone starts no processes"
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert main(["filter", "--pairs", "nowhere", "--output", "x"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "`filter` runs in one process, and 2 were started" in err


def test_a_missing_package_names_the_extra_that_brings_it():
    setup = configparser.ConfigParser()
    setup.read(PACKAGE.parent / "setup.cfg")
    for module, extra in errors.EXTRAS.items():
        refused = errors.missing_package(module)
        name = refused.message.split()[2]
        assert name in re.findall(r"^[\w-]+", setup["options.extras_require"][extra], re.MULTILINE), module
        assert refused.remedy == f'pip install "hf-paraphrase[{extra}]"'


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_pins_its_actions_and_may_only_read_by_default(path):
    text = path.read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used)
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
