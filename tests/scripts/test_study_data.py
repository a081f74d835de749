"""What the studies are made of: pairs, text, phrases, mixtures and word vectors; and the tables of mining."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from small_runs import write, write_sts

from hf_paraphrase.artefacts.provenance import origin_of
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.errors import UsageError

NOUNS = [
    '  1 This line is of the licence | "not an example"',
    '00001740 03 n 02 dog 0 domestic_dog 0 000 | a domestic animal; "the dog barked all night"; ; "he is a dog"',
    "00001930 03 n 01 cat 0 000 | another domestic animal",
]
FILES = {
    "manythings/fra-eng/fra.txt.gz": ["I am ill.\tJe suis malade.", "I'm ill.\tje suis malade.", "Go.\tVa."],
    "twitter_url/train.tsv.gz": ["1\tcoffee is n't free\tno free coffee", "0\tone thing\tanother thing"],
    "wikisplit/wikisplit.tsv.gz": ["It rains , and pours .\tIt rains .\tIt pours ."],
    "asset/asset.valid.tsv.gz": ["The feline slept.\tThe cat slept.\tThe feline slept."],
    "libreoffice_help/cs.tsv.gz": ["Otevri soubor.\tOpens the file."],
    "licensed/massive/en.txt.gz": ["wake me up at nine", "stop"],
    "licensed/wikipedia_current_events/en_sentences.txt.gz": ["The council meets in Oslo ."],
    "licensed/wikipedia_current_events/en_titles.txt.gz": ["2023 crane collapse"],
    "licensed/classic_books/en_fiction.txt.gz": ["She opened the letter ."],
    "licensed/sgd/en_user.txt.gz": ["Find me a restaurant ."],
    "ppdb/ppdb.retrofitting.txt.gz": ["big large huge great vast enormous"],
}


@pytest.fixture
def corpora(tmp_path):
    for name, lines in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    (tmp_path / "data/turkcorpus").mkdir()
    for side, text in (("norm", "he departed\n"), ("simp", "he left\n")):
        (tmp_path / f"data/turkcorpus/tune.{side}").write_text(text)
    (tmp_path / "dict").mkdir()
    for part, lines in (("noun", NOUNS), ("verb", []), ("adj", []), ("adv", [])):
        (tmp_path / "dict" / f"data.{part}").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


@pytest.fixture
def make(load_script):
    module = load_script("studies/make_data")
    return lambda *words: module.main(list(map(str, words)))


def test_pairs_are_those_of_each_source_each_once_and_written_as_usual(make, corpora, capsys):
    words = ["pairs", "--data", corpora / "data", "--output", corpora / "pairs.tsv.gz"]
    assert make(*words) == 0
    lines = gzip.decompress((corpora / "pairs.tsv.gz").read_bytes()).decode().splitlines()
    assert [tuple(line.split("\t")) for line in lines] == [
        ("I am ill.", "I'm ill."),
        ("coffee isn't free", "no free coffee"),
        ("It rains , and pours .", "It rains . It pours ."),
        ("The feline slept.", "The cat slept."),
        ("he departed", "he left"),
        *(("big", other) for other in ("large", "huge", "great", "vast")),
    ]
    assert make(*words, "--only", "shared translations", "tweets") == 0
    assert gzip.decompress((corpora / "pairs.tsv.gz").read_bytes()).decode().splitlines() == lines[:2]
    assert make(*words, "--only", "elsewhere") == 2 and "unknown source" in capsys.readouterr().err


def test_text_is_short_sentences_of_each_source_each_once(make, corpora, capsys):
    words = ["text", "--data", corpora / "data", "--wordnet", corpora / "dict", "--output", corpora / "text"]
    assert make(*words) == 0
    found = {path.name: gzip.decompress(path.read_bytes()).decode().splitlines() for path in corpora.glob("text/*")}
    assert found == {
        "tatoeba.txt.gz": ["I am ill."],
        "libreoffice_help.txt.gz": ["Opens the file."],
        "wikipedia.txt.gz": ["It rains , and pours .", "It rains .", "It pours ."],
        "wordnet_definitions.txt.gz": ["a domestic animal", "another domestic animal"],
        "wordnet_examples.txt.gz": ["the dog barked all night", "he is a dog"],
        "massive.txt.gz": ["wake me up at nine"],
        "news.txt.gz": ["The council meets in Oslo .", "2023 crane collapse"],
        "fiction.txt.gz": ["She opened the letter ."],
        "dialogue.txt.gz": ["Find me a restaurant ."],
    }
    (corpora / "dict/data.adv").unlink()
    assert make(*words) == 2 and "data.adv" in capsys.readouterr().err


def test_no_phrase_that_is_held_out_is_trained_on(make, tmp_path):
    judged = [f"{1 + x % 5}.0\t[NP]\tthe {x // 4}\ta {x % 150}\t1.0" for x in range(300)]
    words = [f"word{chr(97 + x % 26)} other{chr(97 + x // 26)} third" for x in range(60)] + ["3/4 4/5", "alone"]
    # The third of the first phrases that is held out has one of these.
    judged += ["5.0\t[NN]\t" + "\t".join(line.split()[:2]) + "\t5.0" for line in words[:20]]
    (tmp_path / "ppdb").mkdir()
    for name, lines in (("ppdb-sample.annotated.tsv.gz", judged), ("ppdb-xl.retrofitting.txt.gz", words)):
        (tmp_path / "ppdb" / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    held, train = tmp_path / "held.tsv", tmp_path / "train.tsv"
    assert make("phrases", "--data", tmp_path, "--held-out", held, "--output", train, "--most", 40) == 0
    rows = [line.split("\t") for line in held.read_text().splitlines()]
    pairs = [tuple(line.split("\t")) for line in train.read_text().splitlines()]
    phrases = {phrase for row in rows for phrase in row[2:4]}
    assert 0 < len(rows) < len(judged) and any(row[2].startswith("word") for row in rows)
    scores = {tuple(line.split("\t")[2:4]): line[0] for line in judged}
    assert all(not phrases & set(pair) and scores[pair] in "345" for pair in pairs[:-40])
    assert not {tuple(row[2:4]) for row in rows} & set(pairs) and len(pairs) > 60
    assert all(first.startswith("word") and second.startswith("other") for first, second in pairs[-40:])


def test_joined_pairs_have_ids_of_their_own(make, tmp_path):
    for name, count in (("one", 5), ("two", 30)):
        sides = [[f"{side}{name}{x}" for x in range(count)] for side in "ab"]
        write(tmp_path / name, id=list(map(str, range(count))), sentence1=sides[0], sentence2=sides[1])
    words = ["joined", "--pairs", tmp_path / "one", tmp_path / "two"]
    assert make(*words, "--output", tmp_path / "joined") == 0
    assert origin_of(tmp_path / "joined")["made_by"] == "make_data.py joined"
    rows = DataFolder(tmp_path / "joined").table("train").to_pylist()
    assert len(rows) == 35 == len({row["id"] for row in rows}) and rows[4]["id"] == "one/4"
    assert all(row["id"].replace("/", "") == row["sentence1"][1:] == row["sentence2"][1:] for row in rows)
    words += ["--columns", "sentence1", "sentence2", "--output", tmp_path / "sides"]
    assert make(*words) == 0 and DataFolder(tmp_path / "sides").schema().names == ["sentence1", "sentence2"]


def test_switched_sentences_have_translations_of_at_least_two_words(make, tmp_path):
    words = {"source": ["cane, il cane", "dormire", ", "], "target": ["dog", "to sleep", "here"]}
    write(tmp_path / "words", **words)
    with gzip.open(tmp_path / "text.txt.gz", "wt") as stream:
        stream.write("the dogs sleep here\nthe dogs are here\nDogs sleep\n" * 20)
    options = ["--dictionaries", tmp_path / "words", "--text", tmp_path / "text.txt.gz", "--most", "3"]
    assert make("switched", *options, "--output", tmp_path / "switched.tsv") == 0
    lines = [line.split("\t") for line in (tmp_path / "switched.tsv").read_text().splitlines()]
    assert len(lines) == 3 and {line[1] for line in lines} == {"the dogs sleep here"}
    assert {line[0] for line in lines} <= {"the cane dormire here", "the il cane dormire here"}


def test_a_mixture_has_the_share_of_false_candidates_that_it_says_and_larger_draws_hold_smaller_ones(
    make, tmp_path, capsys
):
    sides = [[f"{side}{x}" for x in range(30)] for side in "ab"]
    write(tmp_path / "c", sentence1=sides[0], sentence2=sides[1], label=[int(x % 3 == 0) for x in range(30)])

    def drawn(right, wrong, seed=0):
        output = tmp_path / f"{right}_{wrong}_{seed}"
        words = ["--pairs", tmp_path / "c", "--right", right, "--wrong", wrong, "--seed", seed, "--output", output]
        code = make("mixture", *words)
        return code or [int(row["sentence2"][1:]) for row in DataFolder(output).table("train").to_pylist()]

    rows = drawn(6, 4)
    assert [x % 3 == 0 for x in rows] == [True] * 6 + [False] * 4
    assert set(rows) < set(drawn(9, 6)) and set(rows) != set(drawn(6, 4, seed=1))
    assert drawn(11, 0) == 2 and "10 pairs of label 1, not 11" in capsys.readouterr().err


def test_the_cost_in_length_is_the_share_of_pairs_of_that_length_that_cost_as_much_or_less(make, tmp_path):
    pairs = write(tmp_path / "p", cost=[3.0, 1.0, 2.0, 2.0, None, 5.0], length=[4, 4, 4, 4, 4, 90])
    assert make("costs", "--pairs", pairs, "--output", tmp_path / "out") == 0
    found = DataFolder(tmp_path / "out").table("train").column("cost_in_length").to_pylist()
    assert found[:4] == [1.0, 0.25, 0.75, 0.75] and np.isnan(found[4]) and found[5] == 1.0


def test_parts_share_no_text(make, tmp_path):
    texts = [f"text {x // 2}" for x in range(400)]
    write(tmp_path / "t", text=texts, label=[x % 2 for x in range(400)])
    assert make("parts", "--data", tmp_path / "t", "--split", "train", "--output", tmp_path / "out") == 0
    train, test = (DataFolder(tmp_path / "out").table(name).column("text").to_pylist() for name in ("train", "test"))
    assert sorted(train + test) == sorted(texts) and not set(train) & set(test) and 10 < len(test) < 80


def test_few_texts_of_each_label_get_their_own_paraphrases_or_as_many_copies(make, tmp_path):
    write(tmp_path / "t", text=[f"text {x}" for x in range(9)], label=[f"class {x % 2}" for x in range(9)])
    write(tmp_path / "t", "test", text=["dev"], label=["class 1"])
    pairs = write(tmp_path / "p", sentence1=["text 1", "text 1", "text 2"], sentence2=["1, 1", "1, 2", "2, 1"])

    def drawn(*words):
        output = tmp_path / "_".join(["few", *words])
        words = ["--first", 5, *words, "--output", output]
        assert make("few", "--data", tmp_path / "t", "--pairs", pairs, *words) == 0
        assert DataFolder(output).table("validation").column("text").to_pylist() == ["dev"]
        return [tuple(row.values()) for row in DataFolder(output).table("train").to_pylist()]

    rows = drawn("--most", "3")
    assert sorted(rows) == [(f"text {x}", f"class {x % 2}") for x in range(5)]
    added = drawn("--most", "3", "--add", "paraphrases")
    assert added[:5] == rows and sorted(added[5:]) == [("1, 1", "class 1"), ("1, 2", "class 1"), ("2, 1", "class 0")]
    copied = drawn("--most", "3", "--add", "copies")
    assert sorted(copied[5:]) == [("text 1", "class 1")] * 2 + [("text 2", "class 0")]
    draws = [drawn("--most", "1", "--seed", str(seed)) for seed in range(8)]
    assert all(sorted(label for _, label in draw) == ["class 0", "class 1"] for draw in draws)
    assert any(draw != draws[0] for draw in draws)


def test_vectors_of_the_words_that_occur_are_kept_and_their_components_preserve_cosines_as_their_number_allows(
    tmp_path, make
):
    pairs = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    write(tmp_path / "pairs", sentence1=pairs, sentence2=pairs[::-1])
    judged = [f"{text}\t{pairs[3]}" for text in pairs]
    write_sts(tmp_path / "sts" / "STS16-en-test", "headlines", judged, [x % 5 for x in range(40)])
    names = sorted({word for text in pairs for word in text.split()})
    lines = [f"{word} 1 2 3 4\n" for word in [*names, "elsewhere"]]
    (tmp_path / "glove.txt").write_text("".join(lines))
    words = ["used", "--pairs", tmp_path / "pairs", "--data", tmp_path / "sts"]
    assert make(*words, "--vectors", tmp_path / "glove.txt", "--output", tmp_path / "used.txt") == 0
    assert (tmp_path / "used.txt").read_text() == "".join(lines[:-1])
    words += ["--vectors", "builtin"]
    whole = read_initial_vectors("builtin", names)
    kept = {}
    for count in (2, 60):
        assert make(*words, "--components", count, "--output", tmp_path / "few.txt") == 0
        found = read_initial_vectors(tmp_path / "few.txt", names)
        assert found.matrix.shape[1] == count and set(found.words) == set(whole.words)
        order = [whole.words.index(word) for word in found.words]
        pairs = np.array([[one, (one * 7 + 3) % len(order)] for one in range(len(order))])
        sums = [matrix[pairs].sum(1) for matrix in (whole.matrix[order], found.matrix)]
        one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in sums)
        kept[count] = np.abs(one @ one.T - other @ other.T).max()
    # Forty sentences have forty directions.
    assert kept[60] < 0.3 < kept[2]


def test_the_vectors_of_the_package_are_read_without_norm_and_rank(tmp_path, make):
    table = {word: [0.5] * 100 + [1.0, rank] for rank, word in enumerate(["the", "cat"])}
    (tmp_path / "glove.json").write_text(json.dumps({"vectors": table}))
    words = ["wink", "--vectors", tmp_path / "glove.json", "--output", tmp_path / "glove.txt"]
    assert make(*words) == 0
    lines = [line.split() for line in (tmp_path / "glove.txt").read_text().splitlines()]
    assert [line[0] for line in lines] == ["the", "cat"] and {len(line) for line in lines} == {101}


def test_a_report_of_mining_has_a_way_for_each_score_and_its_f1_is_drawn_as_by_a_bootstrap(load_script, tmp_path):
    mining = load_script("studies/measures")
    found = {"found": 400, "right": 240, "gold": 600, "precision": 0.6, "recall": 0.4, "f1": 0.48}
    rows = [
        {"score": "hard", "one_to_one": matched, "threshold_is": kind, "test": found}
        for matched, kind in ((False, "fixed"), (True, "tuned"))
    ]
    results = {"candidates": rows, "random_pairs": {"hard": {**found, "best": {"f1": 0.5}}}}
    results["recall"] = {"joint": [{"n": 1, "share": 90.0}, {"n": 10, "share": 95.0}]}
    for name in ("report", "multilingual"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps(results))
    report = mining.read_report(tmp_path / "report")
    assert "multilingual hard, fixed" in mining.read_report(tmp_path / "multilingual")
    ways = ["hard, fixed", "hard, one-to-one, tuned", "hard, random pairs", "hard, random pairs, best", "joint"]
    assert list(report) == ways and report["hard, random pairs, best"]["f1"] == 0.5
    assert mining.measure_score("joint", 10, [report] * 3)[0].tolist() == [95, 95, 95]
    values, drawn = mining.measure_score("hard, fixed", "f1", [report] * 2)
    assert values.tolist() == [48, 48] and (drawn[:, 0] == drawn[:, 1]).all()
    kinds = np.repeat([0, 1, 2], [240, 160, 360])
    generator = np.random.default_rng(0)
    again = [np.bincount(generator.choice(kinds, len(kinds)), minlength=3) for _ in range(2000)]
    f1 = [200 * right / (2 * right + false + missed) for right, false, missed in again]
    assert drawn.mean() == pytest.approx(48.0, abs=0.3) and drawn[:, 0].std() == pytest.approx(np.std(f1), rel=0.1)
    with pytest.raises(UsageError, match="no way `soft`"):
        mining.measure_score("soft", "f1", [report])


def test_the_curves_of_all_seeds_are_drawn_with_the_best_precision_from_each_recall_on(
    load_script, monkeypatch, tmp_path
):
    for seed in range(2):
        for group in ("random_pairs", "candidates"):
            folder = tmp_path / f"seed_{seed}/report/curves" / group
            folder.mkdir(parents=True)
            for name in ("random", "zero", "remove", "hard"):
                points = "threshold\tprecision\trecall\n0.9\t0.8\t0.1\n0.5\t0.5\t0.5\n0.1\t0.6\t0.7\n"
                (folder / f"{name}.tsv").write_text(points)
    script = load_script("studies/study_tables")
    monkeypatch.setattr("sys.argv", ["tables", "--curves", str(tmp_path), "--output", str(tmp_path / "curves.png")])
    script.main()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    found = script.precision_at(tmp_path / "seed_0/report/curves/candidates/hard.tsv")
    assert [found[place] for place in (0, 20, 40, 140, 142)] == pytest.approx([80, 80, 60, 60, 0])


def test_every_row_is_tested_in_one_stratified_fold_that_all_classifiers_share(
    load_script, monkeypatch, tmp_path, capsys
):
    rows = {"neg": [f"bad {row}" for row in range(20)], "pos": [f"good {row}" for row in range(30)]}
    for name, texts in rows.items():
        (tmp_path / f"rt-polarity.{name}").write_text("".join(f"{text}\n" for text in texts))
    script, tested = load_script("studies/classifiers"), []

    def predict(train, texts):
        assert not {*train[0]} & {*texts}
        tested.append(texts)
        return ["1"] * len(texts)

    monkeypatch.setattr(script, "predict_tfidf", predict)
    monkeypatch.setattr(script, "predict_ours", lambda *_, freeze_encoder=False: predict)
    script.main([str(tmp_path), "--tasks", "MR", "--few-seeds", "0"])
    assert tested[:5] == tested[5:10] == tested[10:]
    assert sorted(text for fold in tested[:5] for text in fold) == sorted(rows["neg"] + rows["pos"])
    assert capsys.readouterr().out.splitlines()[0] == "MR 40 50 60.0 ± 0.0 60.0 ± 0.0 60.0 ± 0.0 0.0 ± 0.0"


def test_a_standard_error_is_the_deviation_over_the_root_of_the_number_of_values(load_script):
    script = load_script("studies/classifiers")
    assert [script.format_mean(values) for values in ([0.5], [0.4, 0.5, 0.6])] == ["50.0", "50.0 ± 5.8"]
