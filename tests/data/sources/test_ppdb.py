from __future__ import annotations

import gzip

import pytest

from hf_paraphrase.data.sources.ppdb import PpdbSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import InputError

ONE = "[NP] ||| {} ||| {} ||| Abstract=0 p(e|f,LHS)={} AGigaSim=0.5 ||| 0-0 1-1\n"
TWO = "[NN] ||| car ||| auto ||| PPDB2.0Score=5.25 -logp(LHS|e1)=0.01 AGigaSim=NA ||| 0-0 ||| ForwardEntailment\n"


def rows(path, **options):
    paths = path if isinstance(path, list) else [path]
    with SourceRows(PpdbSource(file=[str(file) for file in paths], **options)) as corpus:
        return [row for table in corpus.tables(next(iter(corpus.parts))) for row in table.to_pylist()], corpus


@pytest.fixture
def one(tmp_path):
    path = tmp_path / "ppdb-1.0-s-phrasal.gz"
    path.write_bytes(gzip.compress("".join(ONE.format(f"a {i}", f"b {i} c", i) for i in range(10)).encode()))
    return path


def test_rules_of_both_versions_keep_their_fields(one, tmp_path):
    path = tmp_path / "ppdb-2.0-s-lexical"
    path.write_text(TWO)
    fields = {"lhs": "[NN]", "features": "PPDB2.0Score=5.25 -logp(LHS|e1)=0.01 AGigaSim=NA", "alignment": "0-0"}
    assert rows(path)[0] == [{"sentence1": "car", "sentence2": "auto", **fields, "entailment": "ForwardEntailment"}]
    assert rows(one)[0][3]["sentence2"] == "b 3 c" and rows(one)[0][3]["entailment"] is None


def test_a_malformed_rule_is_named_or_skipped_alone(tmp_path):
    path = tmp_path / "p"
    path.write_text(f"{TWO}[NP] ||| a ||| b\n{TWO}{TWO.strip()} ||| x\n")
    with pytest.raises(InputError, match="3 fields where 5 or 6") as caught:
        rows(path)
    assert caught.value.line == 2
    found, corpus = rows(path, on_error="skip")
    assert len(found) == 2 and corpus.counts["train"]["malformed"] == 2
