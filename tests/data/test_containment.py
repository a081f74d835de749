from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.containment import Containment
from hf_paraphrase.data.evaluation_sets import load_fingerprints
from hf_paraphrase.data.fingerprints import fingerprint_sentence


def ngrams(text: str, size: int) -> list[tuple[str, ...]]:
    words = text.split()
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


def met_by_definition(text: str, known: list[str], size: int, share: float) -> bool:
    own = ngrams(text, size)
    every = {gram for sentence in known for gram in ngrams(sentence, size)}
    if own and sum(gram in every for gram in own) >= share * len(own):
        return True
    return any(len(sentence.split()) >= size and f" {sentence} " in f" {text} " for sentence in known)


# Few words, so that long matches are common.
SENTENCE = st.lists(st.sampled_from(["a", "b", "c", "dé"]), max_size=14).map(" ".join)


@settings(deadline=None, max_examples=200)
@given(
    texts=st.lists(SENTENCE, max_size=10),
    known=st.lists(SENTENCE, max_size=6),
    size=st.integers(4, 6),
    share=st.sampled_from([0.3, 0.5, 0.7, 1.0]),
)
def test_rows_that_match_are_those_of_the_definition(texts, known, size, share):
    index = Containment(size, share)
    index.add("set", pa.array(known, pa.string()))
    found = index.match(pa.array(texts, pa.string())).get("set", [])
    assert list(found) == [row for row, text in enumerate(texts) if met_by_definition(text, known, size, share)]


def test_a_share_that_only_two_sets_together_reach_matches_neither():
    index = Containment(4, 0.7)
    index.add("one", pa.array(["x a b c d e"]))
    index.add("two", pa.array(["d e f g h i"]))
    assert index.match(pa.array(["a b c d e f g h"])) == {}
    assert list(index.match(pa.array(["d e f g h"]))) == ["two"]


def test_rows_matched_by_ngrams_only_are_counted_separately_and_a_list_of_fingerprints_matches_whole_sentences_only(
    tmp_path,
):
    sentence = "the old man walks his small brown dog in the park"
    (tmp_path / "eval.txt").write_text(f"{sentence}\nanother one is here\n")
    (tmp_path / "list.txt").write_text(f"{fingerprint_sentence(sentence)}\n")
    texts = [f"Today {sentence}, again.", sentence.upper(), "He sees that another one is here.", "Clean is this one."]
    sets = load_fingerprints([tmp_path / "eval.txt", tmp_path / "list.txt"], ngrams=8)
    matched, counts = sets.match([pa.array(texts)])
    assert matched.tolist() == [True, True, False, False]
    assert counts == {"eval.txt": 1, "list.txt": 1, "eval.txt (8-grams)": 1}
    assert sets.names == ["eval.txt", "eval.txt (8-grams)", "list.txt"]
    assert load_fingerprints([tmp_path / "eval.txt"]).match([pa.array(texts)])[0].tolist() == [
        False,
        True,
        False,
        False,
    ]
