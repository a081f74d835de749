from __future__ import annotations

import json
import re
import shutil
from unittest.mock import Mock

import numpy as np
import pytest
from small_runs import record, write
from tiny_teachers import WORDS, sentences, write_teacher

import hf_paraphrase
from hf_paraphrase.artefacts.card_metadata import split_card
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.distillation import DistillationTrainer
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

LINES = sentences(400)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Two teachers, a text, and a dev set that is graded by the first teacher."""
    folder = tmp_path_factory.mktemp("distill")
    write_teacher(folder / "bert")
    write_teacher(folder / "small", seed=1, size=8)
    (folder / "text.txt").write_text("\n".join([*LINES, LINES[0], "", "z" * 2000]) + "\n")
    first, second = sentences(80, 1), sentences(80, 2)
    vectors = [SentenceEncoder.from_pretrained(folder / "bert").encode(side) for side in (first, second)]
    vectors = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in vectors]
    scores = (vectors[0] * vectors[1]).sum(1).astype(float)
    write(folder / "dev", "validation", sentence1=first, sentence2=second, score=scores)
    return folder


def distill(*words):
    return main(["distill", *map(str, words)])


def run(work, output, *flags):
    return distill("--teacher", work / "bert", "--text", work / "text.txt", "--output", output, *FAST, *flags)


FAST = ("--epochs", 2, "--batch-size", 32, "--learning-rate", 0.02, "--min-frequency", 1)
KINDS = [
    ("avg", "--letters", "--matryoshka", 4, 8, 16, "--principal-components"),
    ("word-trigram", "--hidden-size", 3, "--matryoshka", 6, "--letters"),
    ("recurrent", "--cell", "gru", "--hidden-size", 6, "--precision", "bf16"),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind)))
def test_every_kind_of_student_learns_and_leaves_a_complete_folder(work, tmp_path, capsys, kind):
    output = tmp_path / "student"
    assert run(work, output, "--model-type", *kind, "--dev-data", work / "dev", "--license", "mit") == 0
    out, err = capsys.readouterr()
    assert out == "" and "left out: 1 empty, 1 too long, 1 repeated" in err and "untrained: dev score" in err
    made = record(output)
    results = made["results"]
    assert results["texts"] == 400 and results["teachers"] == {"bert": 16}
    assert [entry["epoch"] for entry in results["dev_scores"]] == [0, 1, 2]
    assert results["dev_best"] == max(entry["dev_mean"] for entry in results["dev_scores"][1:])
    if kind[0] != "recurrent":
        assert results["dev_best"] > results["dev_untrained"] + 3
    encoder = hf_paraphrase.SentenceEncoder.from_pretrained(output)
    assert encoder.encode(["a1 b2", "unheard of"]).shape == (2, 6 if "--hidden-size" in kind else 16)
    card = (output / "README.md").read_text()
    assert "license: mit" in card and "imitate bert" in card and f"{results['dev_best']:.2f} (kept)" in card
    assert "checkpoints" not in {path.name for path in output.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["student"]
    if kind[0] == "avg":
        assert results["dev_finished"] == pytest.approx(results["dev_best"], abs=1e-3), "axes change no cosine"
    assert {item["name"] for item in made["inputs"]} == {"text.txt", "bert", "dev"}


def test_from_python_with_two_teachers_a_word_list_and_evaluation_sets(work, tmp_path):
    (tmp_path / "words.txt").write_text("c13\nrare\n")
    (tmp_path / "sts.txt").write_text("\n".join(line for line in LINES[1:30] if line.count(" ") > 2))
    encoder = hf_paraphrase.distill(
        teacher=[work / "bert", work / "small"],
        teacher_vectors=tmp_path / "vectors",
        text=work / "text.txt",
        word_list=tmp_path / "words.txt",
        decontaminate=tmp_path / "sts.txt",
        letters=True,
        epochs=1,
        output=tmp_path / "student",
    )
    assert encoder.dimension == 24 and encoder.results["teachers"] == {"bert": 16, "small": 8}
    met = encoder.results["contamination"]["sts.txt"]
    assert met > 5 and encoder.results["left_out"]["contaminated"] == met
    assert encoder.results["texts"] == 402 - met and "rare" in encoder.tokenizer.get_vocab()
    assert encoder.encode("rare").any(), "a word that no sentence has got a vector"
    assert {path.name.partition("-")[0] for path in (tmp_path / "vectors").iterdir()} == {"bert", "small"}
    assert "decontaminated against `sts.txt`" in (tmp_path / "student" / "README.md").read_text()


def test_a_run_that_is_resumed_encodes_no_text_twice(work, tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as deadly:
        deadly.setattr(DistillationTrainer, "train", Mock(side_effect=KeyboardInterrupt))
        assert run(work, tmp_path / "made") == 130
    assert "texts to encode" in capsys.readouterr().err
    assert run(work, tmp_path / "made", "--resume") == 0
    assert "texts to encode" not in capsys.readouterr().err


def test_a_student_may_continue_from_an_encoder_with_its_licence_and_base(work, tmp_path):
    assert run(work, tmp_path / "first", "--model-type", "word-trigram") == 0
    (tmp_path / "first" / "README.md").write_text("---\nlicense: cc-by-sa-4.0\nbase_model: org/base\n---\n")
    words = ["--teacher", work / "small", "--text", work / "text.txt", "--initial-model", tmp_path / "first"]
    more = ["--letters", "--dev-data", work / "dev", "--epochs", 1]
    assert distill(*words, *more, "--output", tmp_path / "second") == 0
    made = record(tmp_path / "second")
    card = (tmp_path / "second" / "README.md").read_text()
    assert made["settings"]["model_type"] == "word-trigram" and "those of first" in card
    head, _ = split_card(card)
    assert (head["license"], head["base_model"]) == ("cc-by-sa-4.0", "org/base")
    first, second = (SentenceEncoder.from_pretrained(tmp_path / name) for name in ("first", "second"))
    assert first.tokenizer.get_vocab() == second.tokenizer.get_vocab() and first.dimension == second.dimension


@pytest.fixture(scope="module")
def bitexts(work):
    """Texts with a translation word by word: many into French, few into German, which is the source side."""
    for language, lines in {"fr": LINES[:300], "de": LINES[200:230]}.items():
        foreign = [" ".join(f"{language}{word}" for word in line.split()) for line in lines]
        sides = [("source", "en", lines), ("target", language, foreign)]
        if language == "de":
            sides = [("source", "de", foreign), ("target", "en", lines)]
        columns = {side: texts for side, _, texts in sides}
        write(work / language, **columns, **{f"{side}_lang": [code] * len(lines) for side, code, _ in sides})
    return [str(work / "fr"), str(work / "de")]


def test_translations_learn_the_vector_of_the_side_that_the_teacher_knows(work, bitexts, tmp_path, capsys):
    flags = ("--language-exponent", 0.5, "--ranking-weight", 0.1, "--epochs", 12, *FAST[2:])
    assert distill("--teacher", work / "bert", "--bitext", *bitexts, *flags, "--output", tmp_path / "out") == 0
    assert "300 of 300 texts to encode" in capsys.readouterr().err, "nobody asks the teacher for a translation"
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    translations = {"fr": LINES[:300], "de": LINES[200:230]}
    for language, lines in translations.items():
        foreign = [" ".join(f"{language}{word}" for word in line.split()) for line in lines]
        found = encoder.similarity(foreign, lines).argmax(1)
        assert (found == np.arange(len(lines))).mean() > 0.8, language
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| texts of each language | en 300, fr 300, de 30; texts of smaller languages are repeated" in card
    assert "- de\n- en\n- fr" in card


@pytest.mark.parametrize("declared", [True, False])
def test_text_has_the_language_of_a_teacher_that_declares_it(work, tmp_path, declared):
    teacher = shutil.copytree(work / "bert", tmp_path / "bert")
    (teacher / "README.md").write_text("---\nlanguage: en\n---\n" if declared else "# bert\n")
    # Words with the contractions of English would count as English anyway.
    words = ["--teacher", teacher, "--text", work / "text.txt", "--no-split-contractions", *FAST]
    assert distill(*words, "--output", tmp_path / "out") == 0
    head, _ = split_card((tmp_path / "out" / "README.md").read_text())
    assert head.get("language") == (["en"] if declared else None)


def test_text_that_mixes_languages_adds_no_language_to_the_card(work, bitexts, tmp_path):
    mixed = [f"fr{line}" for line in LINES[:300]]
    languages = {"source_lang": ["mul"] * 300, "target_lang": ["en"] * 300}
    write(tmp_path / "mixed", source=mixed, target=LINES[:300], **languages)
    words = ["--teacher", work / "bert", "--bitext", bitexts[0], tmp_path / "mixed", "--epochs", 1, *FAST[2:]]
    assert distill(*words, "--output", tmp_path / "out") == 0
    head, _ = split_card((tmp_path / "out" / "README.md").read_text())
    assert head["language"] == ["en", "fr"] and record(tmp_path / "out")["results"]["texts_by_language"]["mul"] == 300


def test_a_language_that_the_tokenizer_lacks_is_named_before_the_training(work, bitexts, tmp_path, capsys):
    assert run(work, tmp_path / "english", "--epochs", 1) == 0
    assert "are unknown" not in capsys.readouterr().err
    words = ["--teacher", work / "bert", "--initial-model", tmp_path / "english", "--bitext", bitexts[0]]
    assert distill(*words, "--epochs", 1, "--output", tmp_path / "both") == 0
    assert "100% of the tokens in fr are unknown: train the tokenizer with text in fr" in capsys.readouterr().err


def centered_cosines(encoder, texts):
    vectors = encoder.encode(texts, normalize=True)
    vectors -= vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def test_a_teacher_of_one_language_teaches_through_bitext_and_a_multilingual_one_any_text(
    work, bitexts, tmp_path, capsys
):
    finnish = [f"fi{word}" for word in WORDS]
    write_teacher(tmp_path / "many", seed=2, size=8, words=[*WORDS, *(f"fr{word}" for word in WORDS), *finnish])
    (tmp_path / "text.fi").write_text("\n".join(sentences(300, 3, finnish)))
    words = ["--teacher", work / "bert", "--multilingual-teacher", tmp_path / "many", "--bitext", bitexts[0]]
    words += ["--multilingual-text", tmp_path / "text.fi", "--center-teachers", "--epochs", 12, *FAST[2:]]
    assert distill(*words, "--output", tmp_path / "out") == 0
    err = capsys.readouterr().err
    assert "en 300, fr 300, other 300" in err
    assert re.search("bert-.*: 300 of 300 texts to encode", err) and re.search("many-.*: 900 of 900 texts", err)
    student = SentenceEncoder.from_pretrained(tmp_path / "out")
    assert student.results == {} and student.dimension == 24
    foreign = [" ".join(f"fr{word}" for word in line.split()) for line in LINES[:300]]
    unseen = sentences(60, 4, finnish)
    english, many, of_finnish = (
        centered_cosines(SentenceEncoder.from_pretrained(folder), texts)
        for folder, texts in ((work / "bert", LINES[:300]), (tmp_path / "many", foreign), (tmp_path / "many", unseen))
    )
    # French has the vectors of both teachers, and of Finnish the multilingual one alone knows what is similar.
    for texts, wanted, least in ((foreign, (english + many) / 2, 0.6), (unseen, of_finnish, 0.5)):
        pairs = np.triu_indices(len(texts), 1)
        assert np.corrcoef(student.similarity(texts, texts)[pairs], wanted[pairs])[0, 1] > least
    card = (tmp_path / "out" / "README.md").read_text()
    assert "many" in card and "- en\n- fr\n" in card


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--teacher-weights", "1", "2"], "2 weights for 1 teachers"),
        (["--teacher-weights", "0"], "all weights are 0"),
        (["--multilingual-teacher-langs", "fr"], "--multilingual-teacher"),
        (["--initial-model", "{bert}"], "a model of type bert cannot be a student"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_the_teachers_encode(work, tmp_path, capsys, flags, message):
    flags = [flag.format(bert=work / "bert") for flag in flags]
    words = ["--teacher", work / "small", "--text", work / "text.txt", *flags]
    assert distill(*words, "--output", tmp_path / "out") == 2
    assert message in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_teachers_with_code_run_only_with_consent(work, tmp_path, capsys):
    folder = tmp_path / "coded"
    folder.mkdir()
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "own_code.Own"}]))
    (folder / "own_code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Own: pass\n")
    assert distill("--teacher", folder, "--text", work / "text.txt", "--output", tmp_path / "out") == 2
    assert "trust" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
