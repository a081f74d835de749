from __future__ import annotations

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.sources.ppdb import PpdbSource, column_names
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import InputError, UsageError

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


def test_version_two_has_entailment_and_a_missing_value_is_null(tmp_path):
    path = tmp_path / "ppdb-2.0-s-lexical"
    path.write_text(TWO)
    rule = {"sentence1": "car", "sentence2": "auto", "lhs": "[NN]", "alignment": "0-0"}
    features = {"PPDB2_0Score": 5.25, "minus_logp_LHS_e1": 0.01, "AGigaSim": None}
    assert rows(path)[0] == [{**rule, "entailment": "ForwardEntailment", **features}]


def test_column_names_are_words_that_filter_takes_and_never_collide():
    names = column_names(["PPDB2.0Score", "p(e|f)", "p(e f)", "-p", "label", "1st", "|"])
    assert list(names.values()) == ["PPDB2_0Score", "p_e_f", "p_e_f_2", "minus_p", "label_2", "feature_1st", "feature"]


def test_the_budget_of_tokens_goes_over_all_files(one, tmp_path):
    found, _ = rows([one, one], max_tokens=60)
    assert len(found) == 12
    assert found[:10] == rows(one)[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[NP] ||| a ||| b", "3 fields where 5 or 6"),
        (TWO.strip() + " ||| x", "7 fields where 5 or 6"),
        ("[NP] ||| a ||| b ||| AGigaSim=1 oops ||| 0-0", "`oops` is not one of the features"),
        ("[NP] ||| a ||| b ||| AGigaSim=1 AGigaSim=2 ||| 0-0", "feature `AGigaSim` occurs twice"),
        ("[NP] ||| a ||| b ||| AGigaSim=word ||| 0-0", "the value of `AGigaSim=word` is not a number"),
        ("[NP] ||| a\xff ||| b ||| AGigaSim=1 ||| 0-0", "not UTF-8"),
    ],
)
def test_a_malformed_rule_is_named_or_skipped_alone(tmp_path, line, message):
    path = tmp_path / "p"
    path.write_bytes(TWO.encode() + line.encode("latin-1") + b"\n" + TWO.encode())
    with pytest.raises(InputError, match=message) as caught:
        rows(path)
    assert caught.value.line == 2
    found, corpus = rows(path, on_error="skip")
    assert len(found) == 2 and corpus.counts["train"]["malformed"] == 1


def test_the_lexical_layout_gives_a_pair_for_each_paraphrase(tmp_path):
    path = tmp_path / "ppdb-xl.retrofitting.txt"
    path.write_text("big large huge\r\nsmall little\n")
    found = [(row["sentence1"], row["sentence2"], row["rank"]) for row in rows(path)[0]]
    assert found == [("big", "large", 0), ("big", "huge", 1), ("small", "little", 0)]
    path.write_text("big large\nalone\n")
    with pytest.raises(InputError, match="no head with paraphrases") as caught:
        rows(path)
    assert caught.value.line == 2


def test_the_annotated_sample_is_a_graded_set(tmp_path):
    path = tmp_path / "sample.tsv"
    path.write_text("3.5\t[NP]\tthis video\tthe movie\t3.0,4.0\n")
    found, corpus = rows(path)
    assert list(corpus.parts) == ["test"]
    assert list(found[0].values()) == ["this video", "the movie", 3.5, "[NP]", [3.0, 4.0]]
    with pytest.raises(UsageError, match="do not apply"):
        rows(path, max_tokens=3)
    for line, message in (("nan\t[X]\ta\tb\t1", "score `nan`"), ("1\t[X]\ta\tb\t1.2.3", "votes `1.2.3`")):
        path.write_text(f"1\t[X]\ta\tb\t1\n{line}\n")
        with pytest.raises(InputError, match=message):
            rows(path)


def test_layouts_are_not_mixed(one, tmp_path):
    lexical = tmp_path / "l"
    lexical.write_text("big large\n")
    with pytest.raises(InputError, match="several layouts: lexical, rules"):
        rows([one, lexical])


FEATURE_NAME = st.sampled_from(["PPDB2.0Score", "p(e|f,LHS)", "-logp(LHS|e1)", "Abstract", "x=y"])
VALUE = st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(repr), st.sampled_from(["NA", "1e2"]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(features=st.lists(st.dictionaries(FEATURE_NAME, VALUE, max_size=5), min_size=1, max_size=6))
def test_features_are_those_of_a_naive_reading(tmp_path, features):
    path = tmp_path / "p"
    lines = [" ".join(f"{name}={value}" for name, value in row.items()) for row in features]
    path.write_text("".join(f"[X] ||| a{i} ||| b ||| {line} ||| \n" for i, line in enumerate(lines)))
    found, _ = rows(path)
    known = {name for row in features for name in row}
    assert len(found[0]) == len(known) + 5
    for name in known:
        values = [row.get(name) for row in features]
        expected = [None if value in (None, "NA") else float(value) for value in values]
        assert [row[column_names([name])[name]] for row in found] == expected
