"""What holds for the flags of every verb; the dataclasses that declare them are found, not listed."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from help_texts import help_of

from hf_paraphrase.commands.argument_parser import VerbParser
from hf_paraphrase.commands.arguments import parse
from hf_paraphrase.commands.verbs import all_recipes
from hf_paraphrase.errors import UsageError
from hf_paraphrase.settings import _WORDS, OUTPUT, check_fields, constraints_of, flag

SETTINGS = {name: recipe.settings for name, recipe in all_recipes().items()}
CLASSES = sorted(set(SETTINGS.values()), key=lambda found: (found.__module__, found.__name__))

SYNONYMS = (
    {"vocabulary_size", "vocab_size"},
    {"lower_case", "lowercase"},
    {"workers", "num_workers"},
    {"query_file", "queries"},
    {"top_k", "neighbours"},
    {"lang", "language"},
)
OF_A_MARGIN = {("MiningSettings", "neighbours"), ("MiningEvaluationSettings", "neighbours")}
"""Not how many neighbours of a sentence are shown."""


def required(field):
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def item_type(annotation):
    """Returns what a list holds, also one that may be None; None for all else."""
    for part in (annotation, *typing.get_args(annotation)):
        if typing.get_origin(part) is list:
            return typing.get_args(part)[0]
    return None


def list_flags():
    for arguments_class in CLASSES:
        hints = typing.get_type_hints(arguments_class)
        for field in dataclasses.fields(arguments_class):
            if item := item_type(hints[field.name]):
                name = f"{arguments_class.__module__.rpartition('.')[2]}-{field.name}"
                yield pytest.param(arguments_class, field, item, id=name)


def choices_of(field):
    return list(map(str, constraints_of(field).choices or field.metadata.get("choices", [])))


def words_of(field, annotation):
    """Returns a value for a required flag."""
    if choices := choices_of(field):
        return [f"--{field.name}", choices[0]]
    return [f"--{field.name}", "1" if annotation in (int, float) else "x"]


@pytest.mark.parametrize(("arguments_class", "field", "item"), [*list_flags()])
def test_a_list_adds_up_over_its_occurrences_in_place_of_the_default(arguments_class, field, item, tmp_path):
    hints = typing.get_type_hints(arguments_class)
    others = [
        word
        for other in dataclasses.fields(arguments_class)
        if required(other) and other.name != field.name
        for word in words_of(other, hints[other.name])
    ]
    values = choices_of(field) or ["7", "8", "9"]
    first, *rest = (values * 3)[:3]
    flag = field.name.replace("_", "-")
    twice = [f"--{flag}", first, f"--{field.name}", *rest]
    expected = [item(value) for value in (first, *rest)]
    assert getattr(parse(arguments_class, "verb", [*others, *twice]), field.name) == expected
    path = tmp_path / "config.yaml"
    path.write_text(f"{field.name}: [{', '.join(values[:1] * 5)}]\n")
    assert (
        getattr(parse(arguments_class, "verb", [*others, "--config", str(path)]), field.name) == [item(values[0])] * 5
    )
    assert getattr(parse(arguments_class, "verb", [*twice, *others, f"--config={path}"]), field.name) == expected


@pytest.mark.parametrize("arguments_class", CLASSES, ids=lambda x: x.__module__.rpartition(".")[2])
def test_help_marks_what_is_required_and_does_not_contradict_itself(arguments_class, monkeypatch):
    shown = help_of(arguments_class, monkeypatch)
    texts = {name.strip(","): text for names, text in shown.items() for name in names.split()}
    for field in dataclasses.fields(arguments_class):
        text = texts[f"--{field.name.replace('_', '-')}"]
        assert text.endswith("(required)") == required(field), field.name
        assert text.count("(default: ") + text.count("[default: ") <= 1, field.name
        if field.default is True:
            names = field.metadata.get("names", [f"--{field.name.replace('_', '-')}"])
            assert all(texts[name.replace("--", "--no-", 1)] == f"turns {names[0]} off" for name in names)
    for names, text in shown.items():
        assert "_" not in "".join(name for name in names.split() if name.startswith("-")), names
        assert not any(nothing in text for nothing in ("(default: None)", "(default: [", "(default: )")), names
    usage = VerbParser(arguments_class, "verb").format_usage()
    assert not any("_" in word for word in usage.split() if word.lstrip("[").startswith("--"))


@pytest.mark.parametrize("arguments_class", CLASSES, ids=lambda x: x.__module__.rpartition(".")[2])
def test_a_flag_works_by_each_of_the_names_that_verbs_give_it(arguments_class):
    parser = VerbParser(arguments_class, "verb")
    for field in dataclasses.fields(arguments_class):
        for names in SYNONYMS:
            if field.name in names and (arguments_class.__name__, field.name) not in OF_A_MARGIN:
                for name in names:
                    for word in (f"--{name}", f"--{name.replace('_', '-')}=x"):
                        assert parser.fields_given(parser.hyphenated([word])) == {field.name}, word


@pytest.mark.parametrize("arguments_class", CLASSES, ids=lambda x: x.__module__.rpartition(".")[2])
def test_the_help_of_resume_says_what_it_is_refused_without(arguments_class):
    for field in dataclasses.fields(arguments_class):
        for other in constraints_of(field).only_with if field.name == "resume" else ():
            assert flag(other) in field.metadata["help"]


@pytest.mark.parametrize("kind", ["bitext", "pairs"])
@pytest.mark.parametrize(
    "words", [["b,a,_"], ["b", "a", "_"], ["b,", "a,", "_"], ["b", "a,_"], ["b", "--columns", "a", "_"]]
)
def test_columns_of_a_file_are_named_with_commas_or_spaces(kind, words):
    needed = ["--output", "o", *(["--source-lang", "fr", "--target-lang", "en"] if kind == "bitext" else [])]
    arguments_class = SETTINGS[f"prepare {kind}"]
    assert parse(arguments_class, "verb", [*needed, "--columns", *words]).columns == "b,a,_"


@pytest.mark.parametrize("arguments_class", CLASSES, ids=lambda x: x.__module__.rpartition(".")[2])
def test_help_that_lists_kinds_of_compressed_files_lists_all(arguments_class, monkeypatch):
    for text in ((arguments_class.__doc__ or ""), *help_of(arguments_class, monkeypatch).values()):
        listed = [suffix for suffix in (".gz, ", ".bz2, ", ".xz", ".zst") if suffix in text]
        assert ".xz" not in text or listed == [".gz, ", ".bz2, ", ".xz", ".zst"], text


NAMES_OF_INPUTS = """
    bitext classifier compare corpus csv data data_dir decontaminate dev_data encoder encoders expansion
    expansion_decontaminate file frequency_counts gettext gold idf_text index initial_model
    initial_vectors input jsonl language_model language_model_text lexical_table mined model models normal
    pairs parquet path quality_table queries query_file runs_from scoring_encoder segmentation sentences simple
    source source_encoder source_file source_scoring_encoder tagged tags target target_encoder
    target_file target_scoring_encoder task teacher test_source_file test_target_file text tmx
    token_file tokenizer translation_model tsv tune_on validation_source_file validation_target_file
    vectors word_list wordnet
"""
"""The flags of text that are neither a choice nor a word: what they name is read, and no output may hold it."""


def test_what_every_verb_reads_and_makes_is_known():
    texts = {
        field.name: constraints_of(field)
        for found in CLASSES
        for field in dataclasses.fields(found)
        if "help" in field.metadata
        and str in {(hint := typing.get_type_hints(found)[field.name]), *typing.get_args(hint)}
        and constraints_of(field).choices is None
    }
    made = {name for name, constraints in texts.items() if constraints.written or name == OUTPUT}
    assert made == {"output", "translations", "teacher_vectors"}
    assert texts.keys() >= _WORDS
    assert texts.keys() - _WORDS - made == set(NAMES_OF_INPUTS.split())


def number_flags():
    for arguments_class in CLASSES:
        hints = typing.get_type_hints(arguments_class)
        for field in dataclasses.fields(arguments_class):
            parts = {hints[field.name], *typing.get_args(hints[field.name]), item_type(hints[field.name])}
            if parts & {int, float}:
                wrong = (
                    ["nan", "inf", "-inf", "1e39", "3e37"]
                    if float in parts
                    else [str(10**30), str(-(10**30)), "9" * 5_000]
                )
                wrong += ["-1", str(1 << 32)] if field.name.endswith("seed") else []
                name = f"{arguments_class.__module__.rpartition('.')[2]}-{field.name}"
                yield pytest.param(arguments_class, field, wrong, id=name)


@pytest.mark.parametrize(("arguments_class", "field", "wrong"), [*number_flags()])
def test_numbers_without_end_and_seeds_that_generators_refuse_are_told_in_one_short_line(
    arguments_class, field, wrong
):
    hints = typing.get_type_hints(arguments_class)
    others = [
        word
        for other in dataclasses.fields(arguments_class)
        if required(other) and other.name != field.name
        for word in words_of(other, hints[other.name])
    ]
    for value in wrong:
        with pytest.raises(UsageError) as refused:
            check_fields(parse(arguments_class, "verb", [*others, f"--{field.name}={value}"]))
        told = str(refused.value)
        assert f"--{field.name.replace('_', '-')}" in told.replace("/", " ") or "argument" in told, told
        assert "\n" not in told and len(told) < 1_200
