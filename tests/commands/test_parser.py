"""The flags of verbs: made from settings, the same on the command line and in YAML, explained by `--help`."""

from __future__ import annotations

import dataclasses
import re
import typing

import pytest

from hf_paraphrase import messages
from hf_paraphrase.commands import main
from hf_paraphrase.commands.parser import VerbParser, parse
from hf_paraphrase.commands.verbs import all_recipes
from hf_paraphrase.encoders.train_settings import EncoderSettings
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.settings import Settings, flag, option_of, setting


@dataclasses.dataclass
class Arguments(Settings):
    """Do something."""

    output: str = setting("folder")
    num_beams: list[int] = setting("beam widths", [5])
    keep: list[str] = setting("selections, 50% of them", [])
    columns: str = setting("names", "", separator=",")
    margin: str | None = setting("kind of margin", None, alone="ratio")
    length_penalty: float = setting("exponent", 1.0)
    least: int = setting("a number", 0)
    max_sentences: int | None = setting("limit", None)
    lowercase: bool = setting("lower-case", True, names=["--lower-case", "--lowercase"], formerly="fold_case")
    cased: bool = setting("with case", False, formerly=["mixed_case"])
    precision: str = setting("arithmetic", "auto", choices=["auto", "fp32"])


def read(*words):
    return parse(Arguments, "verb", ["--output", "o", *words])


def help_of(settings_class, monkeypatch):
    """Returns for each flag, as it is shown with its values, the text that explains it."""
    monkeypatch.setenv("COLUMNS", "100000")
    text = VerbParser(settings_class, "verb", shows_all=True).format_help()
    entries = re.findall(r"^  -.*(?:\n {4,}.*)*", text, re.MULTILINE)
    return dict(re.split(r"\s{2,}", entry.strip(), maxsplit=1) for entry in entries)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"
    return lambda text: path.write_text(text) and str(path)


# ----- values


def test_a_former_flag_works_is_hidden_and_warns(caplog, config, monkeypatch):
    monkeypatch.setattr(messages, "_WARNED", set())
    settings = read("--mixed-case", "--no-fold-case")
    assert settings.cased and not settings.lowercase
    assert read("--config", config("mixed_case: true\n")).cased
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "`--mixed-case` is deprecated" in caplog.text and "use `--no-lower-case`" in caplog.text
    assert "mixed-case" not in str(help_of(Arguments, monkeypatch))


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ([], {}),
        (["--num-beams", "1", "2", "--length_penalty=0.5"], {"num_beams": [1, 2], "length_penalty": 0.5}),
        (["--cased", "--no-lowercase"], {"cased": True, "lowercase": False}),
        (["--cased", "true", "--lowercase", "no"], {"cased": True, "lowercase": False}),
        (["--keep", "a", "--keep", "b", "c"], {"keep": ["a", "b", "c"]}),
        (["--keep", "-5<=log_prob", "-.5<cost", "--keep=-x"], {"keep": ["-5<=log_prob", "-.5<cost", "-x"]}),
        (["--columns", "b,", "a,_", "--columns=c"], {"columns": "b,a,_,c"}),
        (["--margin"], {"margin": "ratio"}),
        (["--margin", "absolute"], {"margin": "absolute"}),
    ],
)
def test_flags_with_hyphens_or_underscores_give_values_and_lists_add_up(words, fields):
    assert read(*words) == Arguments("o", **fields)
    assert read() == Arguments("o"), "the defaults are as they were"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--unknown", "1"], "unknown argument --unknown "),
        (["--num-beams", "many"], "invalid int value: 'many'"),
        (["--lowercase", "perhaps"], "perhaps"),
    ],
)
def test_bad_usage_is_an_error_that_points_to_the_help(words, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        read(*words)
    assert "hf-paraphrase verb --help" in str(caught.value)
    with pytest.raises(UsageError, match="required: --output"):
        parse(Arguments, "verb", [])
    with pytest.raises(UsageError, match=r"did you mean --output\?"):
        parse(Arguments, "verb", ["--outputt", "x"])


def test_flags_replace_what_the_file_says_lists_included(config):
    words = ["--num-beams", "3", "--keep=c", "--no_lower_case", "--length-penalty=1.0", "--cased=0"]
    path = config("output: out\nnum_beams: [1, 2]\nkeep: [a, b]\nlowercase: true\nlength_penalty: 2\ncased: true\n")
    expected = Arguments("out", [3], ["c"], length_penalty=1.0, lowercase=False)
    assert parse(Arguments, "verb", ["--config", path, *words]) == expected
    assert parse(Arguments, "verb", [*words, "--config", path]) == expected


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "columns: 7\nlength-penalty: 1e1\nnum_beams: [1, '2']\ncased: 'yes'",
            {"columns": "7", "length_penalty": 10.0, "num_beams": [1, 2], "cased": True},
        ),
        ("columns: a\nnum_beams: 3\nlength-penalty: ~\nmargin: null", {"columns": "a", "num_beams": [3]}),
        ("keep: ['-5<=a', --b]\nmax_sentences: 7", {"keep": ["-5<=a", "--b"], "max_sentences": 7}),
        ("length_penalty: -0.5\nprecision: fp32", {"length_penalty": -0.5, "precision": "fp32"}),
        ("columns: [a, b]\nlower_case: false", {"columns": "a,b", "lowercase": False}),
        # The language of Norway, and what YAML 1.1 takes for a truth value, a number of minutes, octal and a date.
        ("columns: no\ncased: no\nnum_beams: 010", {"columns": "no", "num_beams": [10]}),
    ],
)
def test_values_of_every_type_are_read_as_those_of_flags_and_null_means_the_default(config, text, fields):
    path = config(text)
    assert read("--config", path) == read(f"--config={path}") == Arguments("o", **fields)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("out: now\n", "verb: unknown argument --out"),
        ("outptu: now then\n", "verb: unknown argument --outptu, did you mean --output?"),
        ("columns: a\nkeep: {a: b}\n", "verb: `keep` is {'a': 'b'}, not a single value"),
        ("precision: [a, b]\n", "verb: `precision` is ['a', 'b'], not a single value"),
        ("precision: !!python/object/apply:os.getcwd []\n", "verb: `precision` is [], not a single value"),
        ("cased: perhaps\n", "verb: argument --cased: 'perhaps' is not one of true, false"),
        ("- a\n", "the file is not a YAML mapping"),
        ("a: [", "not a readable YAML file"),
    ],
    ids=range(8),
)
def test_what_does_not_fit_in_a_file_is_one_line_with_its_name(config, text, problem):
    path = config(text)
    with pytest.raises((UsageError, InputError)) as refused:
        read("--config", path)
    assert str(refused.value).startswith(f"{path}: {problem}") and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("output: o\ncolumns: a\ncolumns: b\n", 3, "`columns` is set in line 2 already"),
        ("num_beams: [1]\n\nnum-beams: [2]\n", 3, "`num-beams` is set in line 1 already"),
        ("lower_case: true\nno_lower_case: true\n", 2, "`no_lower_case` is set in line 1 already"),
        ("lowercase: true\nlower-case: false\n", 2, "`lower-case` is set in line 1 already"),
        ("{columns: a, columns: b}\n", 1, "`columns` is set in line 1 already"),
        ("outptu: a\noutptu: b\n", 2, "`outptu` is set in line 1 already"),
    ],
    ids=range(6),
)
def test_a_flag_that_a_file_sets_twice_is_refused_with_its_line(config, text, line, problem):
    path = config(text)
    with pytest.raises(InputError) as refused:
        read("--config", path)
    assert str(refused.value) == f"{path}:{line}: {problem} (remove one of the two)"


# ----- help


def test_help_says_what_is_required_and_no_default_that_says_nothing(monkeypatch, capsys):
    assert help_of(Arguments, monkeypatch) == {
        "--output OUTPUT": "folder (required)",
        "--num-beams NUM_BEAMS ...": "beam widths (default: 5)",
        "--keep KEEP ...": "selections, 50% of them",
        "--columns COLUMNS ...": "names",
        "--margin [MARGIN]": "kind of margin",
        "--length-penalty LENGTH_PENALTY": "exponent (default: 1.0)",
        "--least LEAST": "a number (default: 0)",
        "--max-sentences MAX_SENTENCES": "limit",
        "--lower-case, --lowercase [LOWERCASE]": "lower-case (default: True)",
        "--no-lower-case, --no-lowercase": "disable --lower-case",
        "--cased": "with case",
        "--precision {auto,fp32}": "arithmetic (default: auto)",
        "--config FILE": "a YAML file of `flag: value`; flags on the command line override it",
        "-h, --help": "show this help message and exit",
    }
    with pytest.raises(SystemExit, match="0"):
        read("--help")
    out = capsys.readouterr().out
    assert out.startswith("usage: hf-paraphrase verb --output OUTPUT [flags]\n\nDo something.\n")


def test_a_verb_of_many_flags_shows_the_usual_ones_and_the_switch_that_shows_the_others(capsys):
    shown = []
    for switch in ("--help", "--help-all"):
        with pytest.raises(SystemExit, match="0"):
            main(["train-encoder", switch])
        shown.append(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    usual, every = shown
    assert {"--pairs", "--loss", "--model-type", "--epochs", "--help-all"} <= {*usual} < {*every} and len(usual) < 15
    assert {flag(field.name) for field in dataclasses.fields(EncoderSettings)} <= {*every}


# ----- all verbs

CLASSES = sorted({recipe.settings for recipe in all_recipes().values()}, key=lambda x: (x.__module__, x.__name__))
SYNONYMS = ({"workers", "num_workers"}, {"query_file", "queries"}, {"top_k", "neighbours"}, {"lang", "language"})
NO_SYNONYMS = {("MiningSettings", "neighbours"), ("MiningEvaluationSettings", "neighbours")}
NO_SYNONYMS |= {("ParaphraseSettings", "top_k")}
"""Not the number of shown neighbours of a sentence, but of a margin, or of tokens in sampling."""
WORDS = """
    allowed_host api_base api_key by column columns decimal dev_split device encoding filter filters
    host prompt_name remove_where keep keep_columns label label_column label_separator lang language
    license measures model_source_lang model_target_lang multilingual_teacher_langs pivots
    positive_label protocols query ray_address remove_id repo_id
    report_to revision shard source_lang source_language split subset target_column target_lang task_prefix tasks
    teacher_lang test_part test_split text_column thousands token_arrays train_split tuning_part url
"""
"""The options of text that name nothing on the disk."""
SENTENCES_THEMSELVES = ("GateAnalysisSettings", "sentences")
"""Elsewhere the option names a file of them."""


@pytest.mark.parametrize("settings_class", CLASSES, ids=lambda x: x.__module__.rpartition(".")[2])
def test_help_explains_every_flag_and_every_option_of_text_is_a_path_has_choices_or_is_a_known_word(
    settings_class, monkeypatch
):
    """The output could overwrite an option without its mark, or a pipe in it be read twice."""
    shown, parser = help_of(settings_class, monkeypatch), VerbParser(settings_class, "verb")
    assert len(shown) == len(parser._actions) - 1 and all(shown.values()), "--help-all is not among them"
    for names, text in shown.items():
        assert "_" not in "".join(name for name in names.split() if name.startswith("-")), names
        assert text.count("(default: ") + text.count("[default: ") <= 1, names
    hints = typing.get_type_hints(settings_class)
    for field in dataclasses.fields(settings_class):
        option, key = option_of(field), (settings_class.__name__, field.name)
        if "str" in str(hints[field.name]):
            marked = option.path or option.prefix or option.written or field.name == "output"
            is_word = field.name in WORDS.split() or key == SENTENCES_THEMSELVES
            is_word |= field.name == "prompt" and not marked  # of an encoder; for a chat model it is a file
            assert marked != (option.choices is not None or is_word), field.name
        if field.name == "resume":
            assert all(flag(other) in option.help for other in option.only_with)
        for names in SYNONYMS:
            if field.name in names and key not in NO_SYNONYMS:
                assert all(parser._option_string_actions[flag(name)].dest == field.name for name in names), field.name
        if field.name.endswith("seed"):
            assert (option.at_least, option.at_most) == (0, (1 << 32) - 1), "the range of generators"


# ----- near names


def test_there_is_no_nearest_name_to_a_very_long_one(capsys):
    assert main(["encode", "--model", "builtin", "--input", "a" * 5000]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("hf-paraphrase: error: ") and "did you mean" not in error


def test_a_query_may_begin_with_hyphens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sentences.txt").write_text("a\n")
    (tmp_path / "search.yaml").write_text('model: builtin\ncorpus: sentences.txt\nquery: ["-hello"]\n')
    assert main(["search", "--config", "search.yaml"]) == 0
    assert main(["search", "--model", "builtin", "--corpus", "sentences.txt", "--query", "--not a flag"]) == 0
    assert "-hello\t1" in capsys.readouterr().out
