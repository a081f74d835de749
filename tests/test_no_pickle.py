"""The package and its scripts never run what they read: no pickle, no eval, no loader that would."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "hf_paraphrase").rglob("*.py"), *(ROOT / "scripts").glob("*.py"), ROOT / "setup.py"])
DANGEROUS = re.compile(
    r"\b(?:import|from) (?:_?pickle|cPickle|cloudpickle|dill|joblib|marshal|shelve)\b"
    r"|(?<![.\w] )\b(?:eval|exec|compile|__import__) \(|\btorch \. load \((?!.*weights_only = True)"
    r"|allow_pickle = (?!False)|\byaml \. (?:unsafe_|full_)?load(?:_all)? \(|trust_remote_code = True|shell = True"
    r"|\b(?:extractall|unpack_archive) \("
)


def dangerous(source):
    """Lists what is dangerous in the code of a source text, outside of strings and comments."""
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
