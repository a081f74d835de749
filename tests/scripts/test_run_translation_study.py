from __future__ import annotations

import pytest
from study_runs import StudyRuns, after, parsed

PARTS = ["multi30k", "tatoeba", "help"]
STEPS = [
    *(f"prepare {part}" for part in PARTS),
    "train-nmt captions_nmt",
    "train-nmt mixed_nmt",
    *(f"evaluate-nmt {model}_nmt {part}" for model in ("captions", "mixed") for part in PARTS),
    *(f"back-translate {part}_back" for part in PARTS),
]
LAST_WORDS = {
    "prepare help": "help-7.4.7",
    "train-nmt captions_nmt": "captions_nmt --epochs",
    "train-nmt mixed_nmt": "mixed_nmt --epochs",
    "evaluate-nmt mixed_nmt tatoeba": "mixed_nmt --bitext work/fr/tatoeba",
    "back-translate multi30k_back": "multi30k_back",
}
"""Words of a call by which a step is found that shall fail."""


@pytest.fixture
def run(tmp_path):
    study = StudyRuns(tmp_path, "studies/translation.sh", python=True)
    return lambda **environment: study(**{"LANGUAGES": "fr", **environment})


def step(words):
    if words[0] == "evaluate-nmt":
        return f"evaluate-nmt {after(words, '--model')} {after(words, '--bitext')}"
    return f"{words[0]} {after(words, '--output')}"


def test_all_steps_of_a_language_run_in_their_order_and_its_tables_are_printed(run):
    done, calls = run(SENTENCES="12", BEAM="3")
    assert done.returncode == 0, done.stderr
    assert [step(words) for words in calls] == STEPS
    assert "fr → en, captions\n\n| bitext | BLEU |\n| multi30k, test | 20.0 |" in done.stdout
    assert "fr → en, mixed" in done.stdout


def test_every_call_of_the_study_is_one_that_its_command_understands(run):
    _, calls = run(SENTENCES="12", BEAM="3", LANGUAGES="fr de cs")
    assert len(calls) == 3 * len(STEPS)
    arguments = [parsed(words) for words in calls]
    translated = [found for found, words in zip(arguments, calls, strict=True) if words[0] == "back-translate"]
    assert {(found.max_sentences, found.num_beams, found.num_return_sequences) for found in translated} == {(12, 3, 3)}
    mixed = [found.bitext for found in arguments if (found.output or "").endswith("mixed_nmt")]
    assert [bitext.count(bitext[0]) for bitext in mixed] == [2, 2, 2]


def test_a_small_model_is_trained_with_fewer_units_in_fewer_epochs(run):
    found = {}
    for size, language in (("full", "fr"), ("small", "de")):
        _, calls = run(SIZE=size, MODELS="mixed", LANGUAGES=language)
        (found[size],) = (parsed(words) for words in calls if words[0] == "train-nmt")
    assert found["small"].hidden_size < found["full"].hidden_size
    assert (found["small"].epochs, found["full"].epochs) == (0.8, 1.2)
    done, calls = run(SIZE="tiny")
    assert done.returncode == 2 and "SIZE must be full or small, not tiny" in done.stderr and not calls


def test_what_is_there_is_not_made_again(run):
    run()
    done, calls = run()
    assert done.returncode == 0 and calls == []
    assert done.stdout.count("there already") == 8


@pytest.mark.parametrize("failing", LAST_WORDS)
def test_a_step_that_fails_ends_the_study_with_its_status_and_the_next_run_continues_there(run, failing):
    done, calls = run(FAILING=LAST_WORDS[failing])
    assert done.returncode == 3 and "broken" in done.stderr
    until = STEPS.index(failing)
    assert [step(words) for words in calls] == STEPS[: until + 1]
    done, calls = run()
    assert done.returncode == 0 and [step(words) for words in calls] == STEPS[until:]
