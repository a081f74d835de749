from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from safetensors.torch import load_file, save_file
from tiny_teachers import sentences, write_teacher

import hf_paraphrase
from hf_paraphrase.artefacts.card_heads import split_card
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
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
    table = pa.table({"sentence1": first, "sentence2": second, "score": scores})
    write_split(folder / "dev", "validation", [table], table.schema)
    return folder


def run(work, output, *flags, teachers=("bert",)):
    words = ["--teacher", *(work / name for name in teachers), "--text", work / "text.txt", "--output", output]
    return main(["distill", *map(str, [*words, *FAST, *flags])])


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
    record = json.loads((output / "provenance.json").read_text())
    results = record["results"]
    assert results["texts"] == 400 and results["teachers"] == {"bert": 16}
    assert [entry["epoch"] for entry in results["dev_scores"]] == [0, 1, 2]
    assert results["dev_best"] == max(entry["dev_mean"] for entry in results["dev_scores"][1:])
    if kind[0] != "recurrent":
        assert results["dev_best"] > results["dev_untrained"] + 3
    encoder = hf_paraphrase.SentenceEncoder.from_pretrained(output)
    assert encoder.encode(["a1 b2", "unheard of"]).shape == (2, 6 if "--hidden-size" in kind else 16)
    card = (output / "README.md").read_text()
    assert "license: mit" in card and "do like bert" in card and f"{results['dev_best']:.2f} (kept)" in card
    assert "checkpoints" not in {path.name for path in output.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["student"]
    if kind[0] == "avg":
        assert results["dev_finished"] == pytest.approx(results["dev_best"], abs=1e-3), "axes change no cosine"
    assert {item["name"] for item in record["inputs"]} == {"text.txt", "bert", "dev"}


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


@pytest.mark.parametrize("moment", ["teacher", "training"])
def test_a_killed_run_is_continued_to_the_same_bytes(work, tmp_path, capsys, monkeypatch, moment):
    from hf_paraphrase.encoders.distillation import teacher_vectors
    from hf_paraphrase.encoders.distillation.trainer import DistillationTrainer

    flags = ("--letters", "--dev-data", work / "dev")
    monkeypatch.setattr(teacher_vectors, "TEXTS_PER_BLOCK", 64)
    assert run(work, tmp_path / "whole", *flags) == 0
    embed, compute = teacher_vectors._embed, DistillationTrainer.compute_loss
    asked = []

    def stop_teacher(encoder, teacher, texts):
        if len(asked) >= 128 and moment == "teacher":
            raise KeyboardInterrupt
        asked.extend(texts)
        return embed(encoder, teacher, texts)

    def stop_training(self, *arguments, **settings):
        if self.state.global_step == 20 and moment == "training":
            raise KeyboardInterrupt
        return compute(self, *arguments, **settings)

    monkeypatch.setattr(teacher_vectors, "_embed", stop_teacher)
    monkeypatch.setattr(DistillationTrainer, "compute_loss", stop_training)
    assert run(work, tmp_path / "made", *flags) == 130
    moment, before = "", len(asked)
    assert before == (128 if len(asked) < 400 else 400)
    capsys.readouterr()
    assert run(work, tmp_path / "made", *flags) == 2
    assert "an incomplete run for this output exists" in capsys.readouterr().err
    assert run(work, tmp_path / "made", *flags, "--resume", "--seed", 3) == 2
    assert "other settings: seed" in capsys.readouterr().err
    assert run(work, tmp_path / "made", *flags, "--resume") == 0
    assert len(asked) == 400, "no text is encoded twice"
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "made")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("kind", ["avg", "word-trigram"])
def test_a_student_may_continue_from_an_encoder(work, tmp_path, capsys, kind):
    assert run(work, tmp_path / "first", "--model-type", kind) == 0
    words = ["--teacher", work / "small", "--text", work / "text.txt", "--initial-model", tmp_path / "first"]
    more = ["--letters", "--dev-data", work / "dev", "--epochs", 2]
    assert main([str(word) for word in ["distill", *words, *more, "--output", tmp_path / "second"]]) == 0
    record = json.loads((tmp_path / "second" / "provenance.json").read_text())
    assert record["settings"]["model_type"] == kind and "those of first" in (tmp_path / "second/README.md").read_text()
    first, second = (SentenceEncoder.from_pretrained(tmp_path / name) for name in ("first", "second"))
    assert first.tokenizer.get_vocab() == second.tokenizer.get_vocab() and first.dimension == second.dimension
    capsys.readouterr()
    assert "exclude each other" in refused(capsys, *words, "--min-frequency", 3, "--output", tmp_path / "third")


def refused(capsys, *words):
    assert main([str(word) for word in ["distill", *words]]) == 2
    out, err = capsys.readouterr()
    message = [line for line in err.splitlines() if line.startswith("hf-paraphrase: error:")]
    assert out == "" and len(message) == 1 and "Traceback" not in err
    return message[0]


def copy_of(work, tmp_path):
    copy = tmp_path / "teacher" / "bert"
    shutil.copytree(work / "bert", copy)
    return copy


def change_json(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def own_code(copy):
    change_json(copy / "config.json", model_type="theirs", auto_map={"AutoModel": "modeling.Theirs"})


def no_numbers(copy):
    weights = load_file(copy / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"][:] = float("nan")
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (own_code, "needs the code that it brings"),
        (no_numbers, "its vector is not finite for the text `"),
        (shutil.rmtree, "no such file or folder"),
    ],
)
def test_a_teacher_that_cannot_be_used_is_one_line(work, tmp_path, capsys, spoil, message):
    copy = copy_of(work, tmp_path)
    spoil(copy)
    words = ["--teacher", copy, "--text", work / "text.txt", "--output", tmp_path / "student", *FAST]
    found = refused(capsys, *words)
    assert message in found and str(copy) in found


@pytest.fixture(scope="module")
def bitexts(work):
    """Texts with a translation word by word: many into French, few into German, which is the source side."""
    for language, lines in {"fr": LINES[:300], "de": LINES[200:230]}.items():
        foreign = [" ".join(f"{language}{word}" for word in line.split()) for line in lines]
        table = pa.table(
            {
                "source": foreign if language == "de" else lines,
                "target": lines if language == "de" else foreign,
                "source_lang": ["de" if language == "de" else "en"] * len(lines),
                "target_lang": ["en" if language == "de" else language] * len(lines),
            }
        )
        write_split(work / language, "train", [table], table.schema)
    return [str(work / "fr"), str(work / "de")]


def test_translations_learn_the_vector_of_the_side_that_the_teacher_knows(work, bitexts, tmp_path, capsys):
    flags = ("--language-exponent", 0.5, "--ranking-weight", 0.1, "--epochs", 12, *FAST[2:])
    words = ["distill", "--teacher", work / "bert", "--bitext", *bitexts, *flags, "--output", tmp_path / "out"]
    assert main([str(word) for word in words]) == 0
    assert "300 of 300 texts to encode" in capsys.readouterr().err, "nobody asks the teacher for a translation"
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    translations = {"fr": LINES[:300], "de": LINES[200:230]}
    for language, lines in translations.items():
        foreign = [" ".join(f"{language}{word}" for word in line.split()) for line in lines]
        found = encoder.similarity(foreign, lines).argmax(1)
        assert (found == np.arange(len(lines))).mean() > 0.8, language
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| texts of each language | en 300, fr 300, de 30; those of smaller ones are repeated" in card
    assert "- de\n- en\n- fr" in card


def test_bitext_of_which_no_side_is_in_the_language_of_the_teachers_is_refused(work, bitexts, tmp_path, capsys):
    words = ["--teacher", work / "bert", "--bitext", *bitexts, "--teacher-lang", "fi", "--output", tmp_path / "out"]
    assert "no side is in the language of the teachers, fi, but en and fr" in refused(capsys, *words)


def test_a_student_has_the_licence_and_base_of_the_weights_that_it_started_from(work, tmp_path):
    assert run(work, tmp_path / "start") == 0
    (tmp_path / "start" / "README.md").write_text("---\nlicense: cc-by-sa-4.0\nbase_model: org/base\n---\n")
    words = ["--teacher", work / "bert", "--text", work / "text.txt", "--epochs", 0, "--initial-model"]
    words += [tmp_path / "start", "--output", tmp_path / "student"]
    assert main(["distill", *map(str, words)]) == 0
    head, _ = split_card((tmp_path / "student" / "README.md").read_text())
    assert (head["license"], head["base_model"]) == ("cc-by-sa-4.0", "org/base")
