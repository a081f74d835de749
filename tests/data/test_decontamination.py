from __future__ import annotations

import bz2
import dataclasses
import gzip
import hashlib
import json
import re
import unicodedata
from itertools import takewhile

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, DatasetDict
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase import filter
from hf_paraphrase.commands import main
from hf_paraphrase.commands.verbs import all_recipes
from hf_paraphrase.data.decontamination import LIST_HEADER, DecontaminationSettings, Decontaminator, load_fingerprints
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.rows import open_rows
from hf_paraphrase.data.sample import sample_paraphrases
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.text.fingerprints import Containment, Fingerprints, hash_sentences, normalize_words_as
from hf_paraphrase.text.normalization import normalize_text, normalize_words, normalize_words_all
from hf_paraphrase.text.words import python_class, unspaced_letters

UNSPACED = python_class(unspaced_letters())


def separate(match: re.Match[str]) -> str:
    """Puts spaces around a letter with its marks."""
    marks = "".join(takewhile(lambda c: unicodedata.category(c)[0] == "M" or c in "\uff9e\uff9f", match[2]))
    return f" {match[1]}{marks} {match[2][len(marks) :]}"


def by_the_description(text: str) -> str | None:
    """The words of the description, slowly: letters, marks and digits after NFKC and case folding, four or more."""
    text = normalize_text(unicodedata.normalize("NFKC", text))
    characters = [c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text]
    words = re.sub(rf"([{UNSPACED}])([^ {UNSPACED}]*)", separate, "".join(characters)).split()
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16] if len(words) >= 4 else None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("aB 9_-.é\u0130ﬁ²\u00a0ß", max_size=30)


def fingerprint_of(text: str) -> str | None:
    numbers, has_one = hash_sentences(normalize_words_all(pa.array([text])))
    return f"{numbers[0]:016x}" if has_one[0] else None


@settings(deadline=None, max_examples=80)
@given(st.lists(TEXT, max_size=12))
@example(["The ﬁrst İstanbul ², _tram_ (1914)!", "a_b c-d"])
def test_fingerprints_are_those_described_and_many_at_once_are_as_one_by_one(texts):
    assert normalize_words_all(pa.array(texts, pa.string())).to_pylist() == [normalize_words(text) for text in texts]
    numbers, mask = hash_sentences(normalize_words_all(pa.array(texts, pa.string())))
    slow = [by_the_description(text) for text in texts]
    assert [f"{n:016x}" if m else None for n, m in zip(numbers.tolist(), mask.tolist(), strict=True)] == slow


def test_rows_are_dropped_if_any_column_matches_and_each_set_counts_its_own(tmp_path):
    (tmp_path / "one.txt").write_text("the cat sat down\tthe dog sat down\n")
    (tmp_path / "two.txt").write_text("the cat sat down\nthe cow sat down\n")
    first = ["The cat sat down!", "A clean sentence is here.", "The cow sat down.", "Clean one is this too."]
    table = pa.table({"id": [1, 2, 3, 4], "sentence1": first, "sentence2": ["x", "The dog, sat down", "x", "y"]})
    paths = tuple(str(tmp_path / f"{name}.txt") for name in ("one", "two"))
    for columns, stay, counts in (
        (("sentence1", "sentence2"), [4], {"one.txt": 2, "two.txt": 2}),
        (("sentence1",), [2, 4], {"one.txt": 1, "two.txt": 2}),
    ):
        kept, report = Decontaminator(paths, columns).process(table)
        assert kept["id"].to_pylist() == stay and report["contamination"] == counts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sts-dev.csv", "main\tMSRvid\t2012\t1\t2.5\tThe man plays a guitar.\tA girl is styling hair.\n"),
        ("sets.jsonl", json.dumps({"a": "The man plays a guitar.", "b": ["A girl is styling hair."]}) + "\n"),
        ("sets.ndjson", json.dumps({"a": "The man plays a guitar.", "b": ["A girl is styling hair."]}) + "\n"),
        ("a.csv", 'a,b\n"The man plays a guitar.","A girl is styling hair, or not."\n'),
        ("a.csv", 'id,text\n1,"never closed of this one\n2,the man plays a guitar\n3,a girl is styling hair\n'),
        ("a.csv", "id;text\n1;the man plays a guitar\n2;a girl is styling hair, or not\n"),
        ("a.csv", "id,text\n1,the man plays a guitar\n2,a girl is\tstyling\n3,a girl is styling hair\n"),
        ("a.csv", 'id,text\r\n1,"the man plays\r\na guitar"\r\n2,"a girl is ""styling"" hair"\r\n'),
    ],
)
def test_evaluation_files_are_read_in_their_raw_layouts_and_csv_whatever_its_delimiter_and_faults(
    tmp_path, name, content
):
    (tmp_path / name).write_bytes(content.encode())
    girl = "a girl is styling hair" + (" or not" if "or not" in content else "")
    assert load_fingerprints([tmp_path / name]).match([["The man plays a guitar.", girl]])[0].all()


@pytest.mark.parametrize("columns", [["sentence1", "sentence2"], ["source", "target"]])
def test_prepared_data_folders_are_read_in_all_splits_and_on_both_sides(tmp_path, columns):
    for split in ("dev", "test"):
        rows = {columns[0]: [f"the first {split} sentence here"], columns[1]: [f"the second {split} sentence"]}
        write_split(tmp_path / "eval", split, [table := pa.table(rows)], table.schema)
    sets = load_fingerprints([tmp_path / "eval"])
    assert sets.match([["the second dev sentence", "the first test sentence here"]])[0].all()


LAYOUTS = {
    "text": lambda text: pa.table({"text": ["short"], "question": [text]}),
    "negative": lambda text: pa.table({"sentence1": ["a"], "sentence2": ["b"], "negative": [text]}),
    "translation": lambda text: pa.table({"translation": [{"fr": text, "en": "short"}]}),
    "nested": lambda text: pa.table({"text": ["a"], "turns": [[{"said": [text]}]]}),
    "capital": lambda text: pa.table({"Text": [text], "n": [1]}),
    "type": lambda text: pa.table({"t": pa.array([text], pa.large_string()).dictionary_encode()}),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_text_of_an_evaluation_set_is_kept_out_whatever_its_column_and_file(name, tmp_path):
    rows = LAYOUTS[name]("the man plays a guitar")
    pq.write_table(rows, tmp_path / "a.PARQUET")
    dataset = Dataset(rows)
    dataset.save_to_disk(tmp_path / "saved")
    DatasetDict({"test": dataset}).save_to_disk(tmp_path / "both")
    for file in ("a.PARQUET", "saved", "both", "saved/data-00000-of-00001.arrow"):
        assert load_fingerprints([tmp_path / file]).match([["The man plays a guitar."]])[0].all(), file
    pairs = [{"sentence1": "The man plays a guitar", "sentence2": "x"}, {"sentence1": "a", "sentence2": "b"}]
    for judged in (dataset, rows, rows.to_pylist()):
        assert filter(pairs=pairs, decontaminate=[judged], output=tmp_path / "made", overwrite=True).count() == 1


@pytest.mark.parametrize("name", ["positive", "sentences"])
def test_every_sentence_of_a_list_in_parquet_is_kept_out(tmp_path, name):
    texts = [["the man plays a guitar", "a girl is styling hair"], [], None]
    pq.write_table(pa.table({"anchor": ["one plain sentence here", "b", "c"], name: texts}), tmp_path / "a.parquet")
    sets = load_fingerprints([tmp_path / "a.parquet"])
    assert sets.match([["The man plays a guitar.", "a girl is styling hair", "one plain sentence here"]])[0].all()


def test_each_line_of_a_text_with_several_is_kept_out(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"The man plays a guitar.\nA girl is styling hair."\n')
    pq.write_table(pa.table({"text": ["The man plays a guitar.\r\nA girl is styling hair."]}), tmp_path / "a.parquet")
    texts = ["the man plays a guitar", "a girl is styling hair", "The man plays a guitar. A girl is styling hair."]
    for name in ("a.csv", "a.parquet"):
        matched, _ = load_fingerprints([tmp_path / name]).match([[*texts, "another plain sentence here"]])
        assert matched.tolist() == [True, True, True, False]


def test_lists_of_both_versions_are_matched_by_their_own_definition(tmp_path, caplog):
    hindi, plain = "वह दिन में काम करता है", "sentence number {} is here".format
    (words,) = normalize_words_as(1, pa.array([hindi]), pa.array([""])).to_pylist()
    old = hashlib.sha256(words.encode()).hexdigest()[:16]
    data = "".join(f"{digits}\n" for digits in (old, fingerprint_of(plain(1)))).encode()
    path = tmp_path / "held.txt.gz"
    path.write_bytes(gzip.compress(data))
    (tmp_path / "eval.txt").write_text(f"{plain(2)}\tToo short\n{hindi}\n{plain(2).upper()}!\n")
    main(["fingerprint", "--data", str(tmp_path / "eval.txt"), "--output", str(tmp_path / "new.txt")])
    expected = [LIST_HEADER, *sorted(map(by_the_description, (hindi, plain(2))))]
    assert (tmp_path / "new.txt").read_text().splitlines() == expected, "sorted and each once"
    with caplog.at_level("INFO"):
        old_list, new_list = load_fingerprints([path]), load_fingerprints([tmp_path / "new.txt"])
    assert "2 fingerprints of version 1" in caplog.text and "2 fingerprints of version 3" in caplog.text
    texts = [hindi, "वह दिन में काम करती है", plain(1).upper(), plain(2)]
    assert old_list.match([texts])[0].tolist() == [True, True, True, False]
    assert new_list.match([texts])[0].tolist() == [True, False, False, True]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / path.name).write_bytes(gzip.compress((tmp_path / "new.txt").read_bytes()))
    for lists in ([path, tmp_path / "new" / path.name], [tmp_path / "new" / path.name, path]):
        assert load_fingerprints(lists).match([texts])[0].all(), "two versions with one name"
    assert main(["fingerprint", "--data", str(path), "--output", str(tmp_path / "made.txt")]) == 2


def test_everything_in_a_folder_is_read_or_named_as_unread(tmp_path, caplog):
    root = tmp_path / "eval"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "a.txt.bz2").write_bytes(bz2.compress(b"this one is deep inside\n"))
    (root / "deep" / "b.json").write_text('[{"text": ["this one is in json"]}]')
    pq.write_table(pa.table({"n": [1], "text": ["this one is in parquet"]}), root / "c.parquet")
    write_split(root / "set", "test", [table := pa.table({"sentence1": ["this is in a folder"]})], table.schema)
    (root / ".partial" / "data").mkdir(parents=True)
    (root / ".partial" / "data" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")
    (root / "licensed").mkdir()
    (root / "licensed" / "config.csv").write_text("text\nthis one is not a licence\n")
    pa.feather.write_feather(pa.table({"text": ["this one is in feather"]}), root / "d.feather")
    (root / "README.md").write_text("this is only a card\n")
    (root / "x.bin").write_bytes(b"\0\1this is a binary file\n")
    (root / "wide.txt").write_bytes("this one is in utf sixteen\n".encode("utf-16"))
    with caplog.at_level("INFO"):
        sets = load_fingerprints([root])
    read = ("deep/b.json", "deep/er/a.txt.bz2", "c.parquet", "d.feather", "licensed/config.csv", "set", "wide.txt")
    assert {name: len(numbers) for name, numbers in sets.sets.items()} == {f"eval/{name}": 1 for name in read}
    assert "eval/c.parquet: 1 sentences of four words or more to keep out" in caplog.text
    assert "not read, because they contain no sentences: eval/README.md, eval/x.bin" in caplog.text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scores.txt", b"1.0\n2.0\n"),
        ("a.npy", b"\x93NUMPY\0\0"),
        ("e/", b""),
        ("list.txt", f"{LIST_HEADER}\n{'0123456789ABCDEF'}\n".encode()),
    ],
)
def test_what_cannot_be_checked_against_is_an_error_not_a_silent_pass(tmp_path, name, content):
    with pytest.raises(InputError, match="no such file"):
        load_fingerprints([tmp_path / "absent"])
    (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"nothing to check against|not a text file|damaged list"):
        load_fingerprints([tmp_path / name])


def test_evaluation_sets_at_urls_are_read():
    files = {"a.txt": b"this one is in text\n", "folder/test.csv": b"text\nthis one is in csv\n"}
    for name, content in files.items():
        fsspec.filesystem("memory").pipe(f"/sets/{name}", content)
    sets = load_fingerprints(["memory://sets/a.txt", "memory://sets/folder"]).sets
    assert {name: len(numbers) for name, numbers in sets.items()} == {"a.txt": 1, "memory://sets/folder": 1}
    with pytest.raises(InputError, match=r"memory://sets/b.txt: no such file"):
        load_fingerprints(["memory://sets/b.txt"])


def ngrams(text: str, size: int) -> list[tuple[str, ...]]:
    words = text.split()
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


def met_by_definition(text: str, known: list[str], size: int) -> bool:
    own = ngrams(text, size)
    every = {gram for sentence in known for gram in ngrams(sentence, size)}
    if own and sum(gram in every for gram in own) >= 0.7 * len(own):
        return True
    return any(len(sentence.split()) >= size and f" {sentence} " in f" {text} " for sentence in known)


# Few words, so that long matches are common.
SENTENCE = st.lists(st.sampled_from(["a", "b", "c", "dé"]), max_size=14).map(" ".join)


@settings(deadline=None, max_examples=80)
@given(texts=st.lists(SENTENCE, max_size=10), known=st.lists(SENTENCE, max_size=6), size=st.integers(4, 6))
def test_rows_that_match_are_those_of_the_definition(texts, known, size):
    index = Containment(size)
    index.add("set", pa.array(known, pa.string()), pa.array(known, pa.string()))
    words = pa.array(texts, pa.string())
    found = index.match(words, words).get("set", [])
    assert list(found) == [row for row, text in enumerate(texts) if met_by_definition(text, known, size)]


def test_rows_matched_by_ngrams_only_are_counted_separately_and_a_list_of_fingerprints_matches_whole_sentences_only(
    tmp_path,
):
    sentence = "the old man walks his small brown dog in the park"
    (tmp_path / "eval.txt").write_text(f"{sentence}\nanother one is here\n")
    (tmp_path / "list.txt").write_text(f"{fingerprint_of(sentence)}\n")
    texts = [f"Today {sentence}, again.", sentence.upper(), "He sees that another one is here.", "Clean is this one."]
    sets = load_fingerprints([tmp_path / "eval.txt", tmp_path / "list.txt"], ngrams=8)
    matched, counts = sets.match([pa.array(texts)])
    assert matched.tolist() == [True, True, False, False]
    assert counts == {"eval.txt": 1, "list.txt": 1, "eval.txt (8-grams)": 1}
    exactly = load_fingerprints([tmp_path / "eval.txt"]).match([pa.array(texts)])[0]
    assert exactly.tolist() == [False, True, False, False]


def test_rephrased_evaluation_sentences_are_found_by_similarity():
    judged = [pair for pair in sample_paraphrases()["test"] if pair.label == 1 and len(pair.sentence1.split()) > 4]
    held_out = [pair.sentence1 for pair in judged]
    rephrased = [f"{held_out[0]} Really.", *(pair.sentence2 for pair in judged)]
    encoder = SentenceEncoder.from_pretrained("builtin")
    cosines = encoder.similarity(encoder.encode(rephrased), encoder.encode(held_out)).max(axis=1)
    sets = load_fingerprints([], similarity=0.8)
    sets.add("test", pa.array(held_out))
    texts = pa.array([*rephrased, held_out[0], "Stock markets fell sharply on Monday.", "", None])
    matched, counts = sets.match([texts])
    near = np.asarray(cosines) >= 0.8
    exact = Fingerprints({"test": sets.sets["test"]}).match([texts])[0]
    assert matched.tolist() == [*(near | exact[: len(near)]), True, False, False, False]
    assert counts == {"test": exact.sum(), "test (similarity 0.8)": matched.sum() - exact.sum()}
    assert near[0] and near.mean() > 0.2 > exact[:-4].mean()


def test_every_verb_that_keeps_evaluation_sets_out_can_do_so_in_each_way():
    for name, recipe in all_recipes().items():
        takes_sets = any("decontaminate" in field.name for field in dataclasses.fields(recipe.settings))
        assert takes_sets == issubclass(recipe.settings, DecontaminationSettings), name


def test_a_data_folder_that_lacks_a_shard_is_refused(tmp_path):
    (tmp_path / "sets" / "one" / "data").mkdir(parents=True)
    shard = tmp_path / "sets" / "one" / "data" / "test-00001-of-00003.parquet"
    pq.write_table(pa.table({"sentence1": ["one two three four"], "sentence2": ["five six seven eight"]}), shard)
    for read in (lambda: load_fingerprints([tmp_path / "sets"]), lambda: open_rows(tmp_path / "sets" / "one", "test")):
        with pytest.raises(InputError, match="1 of 3 shards"):
            read()
    assert open_rows(shard).count() == 1, "a shard that is named itself"


SENTENCES = {
    "我昨天在北京的书店买了三本书。": "我昨天在北京的书店，买了三本书",
    "私は昨日、東京で本を買いました。": "私は昨日東京で本を買いました",
    "เมื่อวานฉันซื้อหนังสือที่กรุงเทพ": "เมื่อวาน ฉันซื้อหนังสือ ที่กรุงเทพ!",
    "ខ្ញុំបានទិញសៀវភៅបីក្បាល។": "ខ្ញុំបានទិញសៀវភៅបីក្បាល",
    "ང་ཁ་ས་དེབ་གསུམ་ཉོས་པ་ཡིན།": "ང ཁ ས དེབ གསུམ ཉོས པ ཡིན",
}


@pytest.mark.parametrize(("sentence", "other"), SENTENCES.items())
def test_sentences_without_spaces_are_found_with_and_without_punctuation_and_by_ngrams(tmp_path, sentence, other):
    (tmp_path / "eval.txt").write_text(f"{sentence}\n")
    rows = [sentence, other, f"{sentence}{sentence[:3]}", sentence[: len(sentence) // 2], "Nothing of this is here."]
    exactly, ngrams = (load_fingerprints([tmp_path / "eval.txt"], ngrams=size).match([rows]) for size in (None, 8))
    assert exactly[0].tolist() == [True, True, False, False, False]
    assert ngrams[0].tolist()[:3] == [True, True, True] and not ngrams[0][4]
    main(["fingerprint", "--data", str(tmp_path / "eval.txt"), "--output", str(tmp_path / "list.txt")])
    assert load_fingerprints([tmp_path / "list.txt"]).match([rows])[0].tolist() == exactly[0].tolist()


def test_lists_of_version_2_match_as_they_did_and_later_versions_are_refused(tmp_path):
    chinese, mixed = "我昨天在北京的书店买了三本书。", "我 昨天 在北京的书店 买了三本书"
    digits = hashlib.sha256("我 昨天 在北京的书店 买了三本书".encode()).hexdigest()[:16]
    (tmp_path / "old.txt").write_text(f"# fingerprints of hf_paraphrase, version 2\n{digits}\n")
    assert load_fingerprints([tmp_path / "old.txt"]).match([[chinese, f"{mixed}！"]])[0].tolist() == [False, True]
    (tmp_path / "new.txt").write_text(f"# fingerprints of hf_paraphrase, version 9\n{digits}\n")
    with pytest.raises(InputError, match="version 9"):
        load_fingerprints([tmp_path / "new.txt"])
