from __future__ import annotations

import dataclasses

import pytest
from help_texts import help_of

from hf_paraphrase.commands.arguments import parse
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.messages import log, shown_messages
from hf_paraphrase.settings import setting, settings_of


@dataclasses.dataclass
class Arguments:
    """Do something."""

    output: str = setting("folder")
    num_beams: list[int] = setting("beam widths", [5])
    keep: list[str] = setting("selections, 50% of them", [])
    length_penalty: float = setting("exponent", 1.0)
    max_sentences: int | None = setting("limit", None)
    lowercase: bool = setting("lower-case", True, names=["--lower-case", "--lowercase"])
    cased: bool = setting("with case", False)
    precision: str = setting("arithmetic", "auto", choices=["auto", "fp32"])


def read(*words):
    return parse(Arguments, "verb", list(words))


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"

    def write(text):
        path.write_text(text)
        return str(path)

    return write


def test_defaults_and_flags_with_hyphens_or_underscores():
    expected = Arguments(output="o", num_beams=[1, 2], length_penalty=0.5)
    assert read("--output", "o", "--num-beams", "1", "2", "--length_penalty=0.5") == expected


def test_switches_can_be_turned_on_and_off():
    assert read("--output", "o", "--cased", "--no-lowercase") == read(
        "--output", "o", "--cased", "true", "--lowercase", "no"
    )
    assert not read("--output", "o", "--no_lowercase").lowercase


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "required: --output"),
        (["--output", "o", "--unknown", "1"], "unknown argument --unknown "),
        (["--output", "o", "stray"], "unknown argument stray"),
        (["--output", "o", "--outpt", "x"], r"did you mean --output\?"),
        (["--output", "o", "--num-beams", "many"], "invalid int value: 'many'"),
        (["--output", "o", "--precision", "fp8"], r"invalid choice: 'fp8': one of auto, fp32"),
        (["--output", "o", "--lowercase", "perhaps"], "perhaps"),
        (["--output", "o", "--out", "x"], "unknown argument"),
        (["--output", "o", "--config"], "expected one argument"),
    ],
)
def test_bad_usage_is_an_error_that_points_to_the_help(words, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        read(*words)
    assert "hf-paraphrase verb --help" in str(caught.value)


def test_a_configuration_file_gives_values_of_every_type(config):
    path = config(
        "output: out\nnum-beams: [1, 50]\nkeep: [a<=1, b>2]\nlength_penalty: -0.5\nmax_sentences: 7\n"
        "lowercase: false\ncased: true\nprecision: fp32\n"
    )
    assert read("--config", path) == Arguments("out", [1, 50], ["a<=1", "b>2"], -0.5, 7, False, True, "fp32")
    assert read(f"--config={path}") == read("--config", path)


def test_null_means_the_default(config):
    assert read("--config", config("output: out\nmax_sentences: null\nnum_beams: ~\n")) == Arguments("out")


def test_a_value_that_begins_with_a_hyphen_is_a_value(config):
    assert read("--config", config("output: -x\n")).output == "-x"


@pytest.mark.parametrize(
    "words",
    [
        ["--num-beams", "3", "--keep", "c", "--no-lowercase", "--length_penalty", "2", "--cased", "false"],
        ["--num_beams=3", "--keep=c", "--no_lowercase", "--length-penalty=2", "--cased=0"],
        ["--num_beams", "3", "--keep", "c", "--lowercase", "no", "--length-penalty=2", "--cased=no"],
    ],
)
def test_flags_replace_what_the_file_says_lists_included(config, words):
    path = config("output: out\nnum_beams: [1, 2]\nkeep: [a, b]\nlowercase: true\nlength_penalty: 1\ncased: true\n")
    expected = Arguments("out", [3], ["c"], 2.0, None, False, False)
    assert read("--config", path, *words) == expected
    assert read(*words, "--config", path) == expected


def test_a_second_name_of_a_flag_does_the_same(config):
    for word in ("--lower-case=no", "--lower_case=no", "--no-lower-case", "--no_lower_case"):
        assert not read("--output", "o", word).lowercase
        assert not read("--config", config("output: o\nlowercase: true\n"), word).lowercase


@pytest.mark.parametrize("key", ["lower-case", "lower_case", "lowercase"])
def test_a_configuration_file_may_use_every_name_of_a_flag(config, key):
    assert not read("--config", config(f"output: o\n{key}: false\n")).lowercase
    assert read("--config", config(f"output: o\n{key}: false\n"), "--lowercase").lowercase


@pytest.mark.parametrize(
    ("first", "second"), [("lower-case", "lowercase"), ("lowercase", "lower_case"), ("max-sentences", "max_sentences")]
)
def test_two_names_of_one_flag_in_a_configuration_file_are_refused(config, first, second):
    path = config(f"output: o\n{first}: 1\n{second}: 1\n")
    with pytest.raises(UsageError, match=f"`{first}` and `{second}` are one setting") as caught:
        read("--config", path)
    assert path in str(caught.value)


@pytest.mark.parametrize("key", ["no-lowercase", "config", "help"])
def test_what_gives_no_flag_a_value_is_no_setting_of_a_configuration_file(config, key):
    with pytest.raises(UsageError, match=f"unknown setting `{key}`"):
        read("--config", config(f"output: o\n{key}: true\n"))


def test_flags_that_are_given_several_times_are_collected_in_place_of_the_default(config):
    assert read("--output", "o", "--keep", "a", "--keep", "b", "c").keep == ["a", "b", "c"]
    assert read("--output", "o", "--num-beams", "5", "--num_beams=6").num_beams == [5, 6]
    path = config("output: o\nkeep: [a]\nnum_beams: [1, 2]\n")
    assert read("--config", path, "--keep", "b", "--keep", "c") == Arguments("o", [1, 2], ["b", "c"])
    assert read("--output", "o") == Arguments("o"), "the defaults are as they were"


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("output: o\nbeams: 5\n", UsageError, "unknown setting `beams`.*one of cased, keep, length_penalty"),
        ("output: {a: 1}\n", UsageError, "`output` is a mapping"),
        ("output: o\nnum_beams: many\n", UsageError, "invalid int value: 'many'"),
        ("- output\n", InputError, "must be a mapping"),
        ("", InputError, "must be a mapping"),
        ("output: [\n", InputError, "not a YAML file"),
        ("output: !!python/object/apply:os.getcwd []\n", InputError, "not a YAML file"),
    ],
)
def test_a_bad_configuration_file_is_one_clear_line(config, text, kind, problem):
    path = config(text)
    with pytest.raises(kind, match=problem) as caught:
        read("--config", path)
    assert "\n" not in str(caught.value)
    assert path in str(caught.value) or "--help" in str(caught.value)


def test_a_missing_or_binary_configuration_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read("--config", str(tmp_path / "absent.yaml"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a YAML file"):
        read("--config", str(tmp_path / "binary"))


def test_help_goes_to_standard_output_and_explains_every_flag(capsys):
    with pytest.raises(SystemExit) as caught:
        read("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "50% of them" in text and "Do something." in text
    for field in dataclasses.fields(Arguments):
        assert f"--{field.name.replace('_', '-')}" in text and field.metadata["help"].replace("%%", "%") in " ".join(
            text.split()
        )


def test_help_says_what_is_required_and_no_default_that_says_nothing(monkeypatch):
    flags = help_of(Arguments, monkeypatch)
    assert flags["--output OUTPUT"] == "folder (required)"
    assert flags["--num-beams NUM_BEAMS [NUM_BEAMS ...]"] == "beam widths (default: 5)"
    assert flags["--keep KEEP [KEEP ...]"] == "selections, 50% of them"
    assert flags["--length-penalty LENGTH_PENALTY"] == "exponent (default: 1.0)"
    assert flags["--max-sentences MAX_SENTENCES"] == "limit"
    assert flags["--lower-case, --lowercase [LOWERCASE]"] == "lower-case (default: True)"
    assert flags["--no-lower-case, --no-lowercase"] == "turns --lower-case off"
    assert flags["--cased"] == "with case"
    assert flags["--precision {auto,fp32}"] == "arithmetic (default: auto)"


def test_settings_are_plain_json_values():
    assert settings_of(Arguments("o", max_sentences=3)) == {
        "output": "o",
        "num_beams": [5],
        "keep": [],
        "length_penalty": 1.0,
        "max_sentences": 3,
        "lowercase": True,
        "cased": False,
        "precision": "auto",
    }


def test_messages_go_to_standard_error(capsys):
    with shown_messages():
        log("hello")
    assert capsys.readouterr() == ("", "hello\n")
