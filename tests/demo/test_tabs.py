"""What the tabs of the page answer, each without a browser: data, neighbours, similarities, translations."""

from __future__ import annotations

import gzip
import html
import json
import re
import shlex
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from small_runs import write

from hf_paraphrase import paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.demo import neighbours_tab
from hf_paraphrase.demo.answers import read_sentences, report_errors, shorten_upload_path
from hf_paraphrase.demo.data_tab import MeasureValues, open_data, read_measures, render_result
from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.neighbours_tab import UserCorpus
from hf_paraphrase.demo.similarity_tab import (
    EXAMPLE,
    add_tab,
    compare_sentences,
    compute_word_shares,
    compute_word_vectors,
)
from hf_paraphrase.demo.translation_tab import choose_round_trip, list_translations, paraphrase_sentence, round_rows
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, ModelError, UsageError
from hf_paraphrase.translation.loading import load_translation_model


def numbers_kept(pairs, ranges, output):
    """Return the number of kept pairs on the page, and the number that its command keeps."""
    kept, comparisons = pairs.select(ranges)
    words = shlex.split(pairs.format_command(comparisons))
    assert words[:2] == ["hf-paraphrase", "filter"] and words[-2:] == ["--output", "filtered"]
    assert main([*words[1:-1], str(output)]) == 0
    return int(kept.sum()), DataFolder(output).count(pairs.split)


def test_a_histogram_counts_kept_pairs_and_others_in_bars_that_hold_their_values():
    measure = MeasureValues.from_values("length", np.array([3.0, 3.0, 4.0, 9.0, np.nan]))
    kept = np.array([True, False, True, False, True])
    start, inside, counts = measure.count_bars(kept)
    assert (start, inside.tolist(), counts.tolist()) == (3, [1, 1, 0, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0, 1])
    heights = re.findall(
        r"from (\d): .*? pairs, . kept. style=.height:([\d.]+)%.><b style=.height:([\d.]+)%", measure.render(kept)
    )
    assert heights[:2] == [("3", "100.0", "50.0"), ("4", "50.0", "100.0")] and heights[6] == ("9", "50.0", "0.0")
    fractions = MeasureValues.from_values("bleu", np.linspace(0, 1, 1001))
    _, _, counts = fractions.count_bars(np.ones(1001, bool))
    assert 20 <= len(counts) <= 60 and counts.sum() == 1001
    missing = MeasureValues.from_values("cost", np.array([np.nan]))
    assert 'class="hfp-bars"></div>' in missing.render(np.ones(1, bool))


def test_the_command_keeps_as_many_pairs_as_the_page_says(pairs, tmp_path):
    ranges = {"log_prob": (-18.1, -11.05), "rank": (1, 3), "cost": (1.9, 9.0), "length": (0, 8)}
    said, kept = numbers_kept(read_measures(DataFolder(pairs), "train", list(ranges)), ranges, tmp_path / "out")
    assert said == kept and 0 < said < 40


def test_missing_values_are_kept_by_whole_ranges_alone_as_filter_does(tmp_path):
    texts, scores = ["a", "b", "c", "d"], [0.1, None, 0.30000000000000004, 0.9]
    write(tmp_path / "a folder", "dev", sentence1=texts, sentence2=texts, score=scores)
    found = read_measures(DataFolder(tmp_path / "a folder"), "dev", ["score"])
    measure = found.measures["score"]
    assert numbers_kept(found, {"score": (measure.low, measure.high)}, tmp_path / "all") == (4, 4)
    assert numbers_kept(found, {"score": (measure.low, 0.31)}, tmp_path / "some") == (2, 2)
    assert "--split dev" in found.format_command([]) and "'" in found.format_command([])
    kept, comparisons = found.select({"score": (0.2, 0.31)})
    text = render_result(found, kept, comparisons)
    assert "1 of 4 pairs are kept" in text and "&lt;=score" in text
    assert found.list_examples(kept) == [["c", "c", 0.3]]
    assert [row[2] for row in found.list_examples(~kept)] == [0.1, None, 0.9]
    assert "no pair is kept" in render_result(found, *found.select({"score": (0.5, 0.6)}))


def test_what_cannot_be_read_is_refused_in_words(pairs, tmp_path):
    with pytest.raises(UsageError, match="absent"):
        read_measures(DataFolder(pairs), "train", ["absent"])
    (tmp_path / "no.parquet").write_text("no Parquet")
    for file, place in ((str(tmp_path / "no.parquet"), ""), (None, str(tmp_path / "absent")), (None, str(tmp_path))):
        with pytest.raises(HfParaphraseError):
            open_data(file, place, "train", [])


def test_an_uploaded_file_and_the_sample_are_pairs_too(pairs):
    upload = str(pairs / "data" / "train-00000-of-00001.parquet")
    opened, available, _ = open_data(upload, "", "", ["rank"])
    assert opened.count == 40 and list(opened.measures) == ["rank"] and "bleu" in available
    assert "--pairs YOUR_FOLDER" in opened.format_command([])
    sample, _, summary = open_data(None, "", "train", [])
    assert (sample.count, sample.split) == (1_800, "validation") and "built-in sample" in summary
    assert list(sample.measures) == ["length", "overlap_1", "bleu"]


LINES = ["the doctor bought a car .", "it is raining .", "", "the farmer sold the old horse .", "it is raining ."]


@pytest.fixture
def catalogue(models):
    return ModelCatalogue([str(models)])


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    return path


def test_neighbours_are_those_of_the_encoder_and_the_index_is_deleted_with_the_corpus(catalogue, text_file, models):
    corpus = UserCorpus(catalogue, text_file)
    assert (corpus.name, corpus.sentences, corpus.is_cut) == ("corpus.txt.gz", LINES, False)
    query = "a physician purchased a car ."
    neighbours = corpus.search(query, "avg", k=2)
    encoder = SentenceEncoder.from_pretrained(models / "avg")
    cosines = encoder.similarity(query, [line for line in LINES[:4] if line])[0]
    assert [item.score for item in neighbours] == pytest.approx(sorted(cosines, reverse=True)[:2], abs=1e-6)
    assert corpus.search("it is raining .", "avg", k=1)[0].sentence == "it is raining ."
    folder = corpus._folder
    assert [path.name for path in folder.glob("[!.]*")] == ["0"], "read once"
    corpus.close()
    assert not folder.exists()


@pytest.mark.parametrize(("limit", "count", "is_cut"), [(4, 4, True), (5, 5, False)])
def test_a_file_above_the_limit_is_indexed_up_to_the_limit(catalogue, text_file, monkeypatch, limit, count, is_cut):
    monkeypatch.setattr(neighbours_tab, "MOST_SENTENCES", limit)
    corpus = UserCorpus(catalogue, text_file)
    assert (len(corpus.sentences), corpus.is_cut) == (count, is_cut)
    nonempty = {line for line in LINES[:limit] if line}
    assert {item.sentence for item in corpus.search("it is", "avg", k=9)} == nonempty


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\x89PNG\r\n\x1a\n", "corpus.bin:1: not UTF-8"), (b" \n", "no sentence")],
)
def test_an_unreadable_file_is_refused_an_upload_by_its_name_and_a_path_as_it_was_typed(
    catalogue, tmp_path, content, message
):
    path = tmp_path / "corpus.bin"
    path.write_bytes(content)
    for upload, name in ((path, "corpus.bin"), (None, html.escape(str(path)))):

        @report_errors()
        def search(upload=upload):
            with shorten_upload_path(upload):
                UserCorpus(catalogue, path)

        assert message in search() and f">{name}" in search()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one", "nothing to compare"),
        ("x " * 50_000 + "\nshort", "sentence 1 has 99,999 characters"),
        ("a\n" * 1000, "1,000 sentences"),
    ],
)
def test_texts_that_cannot_be_compared_are_refused_in_words(text, said):
    with pytest.raises(UsageError, match=said):
        read_sentences(text)


def test_the_text_box_takes_no_more_than_can_be_compared_and_says_so(catalogue):
    gradio = pytest.importorskip("gradio")
    with gradio.Blocks() as page:
        add_tab(gradio, page, catalogue)
    (box,) = [part["props"] for part in page.config["components"] if part["props"].get("elem_id") == "similarity-text"]
    assert (box["max_length"], box["max_lines"]) == (6_000, 12)
    assert "At most 12 sentences and 6,000 characters" in box["info"]


def test_sentences_of_which_the_encoder_knows_no_word_are_named(catalogue):
    shown = html.unescape(re.sub(r"<[^>]*>", " ", compare_sentences(catalogue, "avg", "the car\nquark strangeness")))
    assert "no word of “quark strangeness” is in the encoder's vocabulary: cosines with it are meaningless" in shown


def test_markup_that_was_typed_is_text(catalogue):
    picture = compare_sentences(catalogue, "avg", '<img src=x onerror=alert(1)>\n"quoted" <b>\'')
    assert "<img" not in picture and "<b>" not in picture and "&lt;img" in picture


def test_errors_are_answered_in_words_and_so_are_faults():
    @report_errors(("empty",))
    def handler(error):
        raise error

    shown, other = handler(UsageError("<b>this</b> is wrong", remedy="do that"))
    assert "&lt;b&gt;this&lt;/b&gt; is wrong (do that)" in shown and 'role="alert"' in shown and other == "empty"
    assert "this failed: ZeroDivisionError: oh" in report_errors()(handler.__wrapped__)(ZeroDivisionError("oh"))
    assert "not enough memory" in handler(MemoryError("Unable to allocate 9 GiB"))[0]


def test_the_example_is_similar_where_it_should_be_under_the_encoder_that_is_selected_first(catalogue):
    cosines = catalogue.encoder(catalogue.encoders[0]).similarity(*[EXAMPLE.splitlines()] * 2)
    assert min(cosines[0, 1], cosines[2, 3]) > 0.4 > 0.2 > cosines[:2, 2:].max()


SOURCE, REFERENCE = "le médecin a acheté une voiture .", "the doctor bought a car ."


def test_the_list_has_ranks_scores_and_measures(models):
    model, tokenizer = load_translation_model(models / "nmt", device="cpu")
    nbest = list_translations(model.eval(), tokenizer, SOURCE, REFERENCE, beams=4)
    assert nbest.column("rank").to_pylist() == list(range(nbest.num_rows)) and 1 < nbest.num_rows <= 4
    costs, log_probs, lengths = (nbest.column(name).to_numpy() for name in ("cost", "log_prob", "num_tokens"))
    np.testing.assert_allclose(costs, -log_probs / lengths)
    assert set(nbest.column("sentence1").to_pylist()) == {REFERENCE}
    assert all(0 <= value <= 1 for value in nbest.column("bleu").to_pylist() + nbest.column("overlap_1").to_pylist())
    best = [0, nbest.column("sentence2")[0].as_py(), round(costs[0], 3)]
    assert round_rows(nbest, ["rank", "sentence2", "cost"])[0] == best


def test_a_round_trip_is_chosen_by_the_languages_of_the_models(models, tmp_path):
    assert choose_round_trip(ModelCatalogue([str(models)])) == ("nmt_back", "nmt"), "for English first"
    assert choose_round_trip(ModelCatalogue([str(models / "nmt")])) is None
    for name in ("one", "other"):
        shutil.copytree(models / "nmt", tmp_path / name)
    assert choose_round_trip(ModelCatalogue([str(tmp_path)])) == ("one", "other"), (
        "no languages fit: as they are given"
    )
    languages = {"source_lang": "eng_Latn", "target_lang": "fra_Latn"}
    assert choose_round_trip(ModelCatalogue([str(models / "nmt")], languages=languages)) == ("nmt", "nmt")


def test_paraphrases_are_those_of_the_verb_and_its_command_is_shown(models, catalogue):
    summary, pairs = paraphrase_sentence(catalogue, "nmt_back", "nmt", REFERENCE, 2)
    folders = [str(models / "nmt_back"), str(models / "nmt")]
    expected = paraphrase(REFERENCE, models=folders, num=2)[0]
    assert pairs.column("sentence2").to_pylist() == expected
    assert f"{len(expected)} paraphrases from " in summary
    assert f"hf-paraphrase paraphrase --models {' '.join(folders)} --num 2" in summary
    with pytest.raises(UsageError, match="a single model"):
        paraphrase_sentence(catalogue, "nmt", "nmt", REFERENCE, 2)


TEXTS = ["the doctor bought a car .", "the rain is falling ."]


def test_shares_of_words_add_up_to_the_cosine(models):
    encoder = SentenceEncoder.from_pretrained(models / "gran")
    first, second = (compute_word_vectors(encoder, text) for text in TEXTS)
    shares = compute_word_shares(first, second)
    assert shares.shape == (6, 5) and first.words == TEXTS[0].split()
    assert shares.sum() == pytest.approx(float(encoder.similarity(*TEXTS)[0, 0]), abs=1e-6)
    np.testing.assert_allclose(first.embedding, encoder.encode(TEXTS[0]), atol=1e-6)


def test_shares_of_the_encoder_that_is_built_in_add_up_over_words_and_windows_of_letters():
    encoder = SentenceEncoder.from_pretrained()
    texts = ["The doctor's café bought  a (new) car.", "A physician purchased an automobile"]
    first, second = (compute_word_vectors(encoder, text) for text in texts)
    assert first.words == ["The", "doctor's", "café", "bought", "a", "(", "new", ")", "car", "."]
    shares = compute_word_shares(first, second)
    assert shares.sum() == pytest.approx(float(encoder.similarity(*texts)[0, 0]), abs=1e-5)
    best = np.unravel_index(shares.argmax(), shares.shape)
    assert (first.words[best[0]], second.words[best[1]]) == ("doctor's", "physician")


def test_a_model_whose_embedding_is_no_mean_of_its_tokens_is_reported(models, monkeypatch):
    encoder = SentenceEncoder.from_pretrained(models / "avg")
    forward = encoder.model.forward

    def changed(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.pooler_output = output.pooler_output + 1
        return output

    monkeypatch.setattr(encoder.model, "forward", changed)
    with pytest.raises(ModelError, match="does not show what a word adds"):
        compute_word_vectors(encoder, TEXTS[0])


def test_models_are_found_below_a_folder_after_the_built_in_encoders_and_others_are_left_out(
    models, catalogue, monkeypatch
):
    assert catalogue.encoders == ["builtin", "multilingual", "avg", "damaged", "gran"]
    assert catalogue.translators == ["nmt", "nmt_back"]
    assert catalogue.models["nmt"].languages == ("fr", "en")
    alone = ModelCatalogue([str(models / "nmt")])
    assert (alone.encoders, alone.translators) == (["builtin", "multilingual"], ["nmt"])
    monkeypatch.chdir(models)
    names = ModelCatalogue(["avg", "builtin", str(models)]).encoders
    assert names == ["builtin", "multilingual", "avg", str(models / "avg"), "damaged", "gran"]


def test_tables_of_other_libraries_are_offered_too(models, tmp_path):
    for name in ("model2vec", "static"):
        shutil.copytree(models / "avg", tmp_path / name)
        weights = load_file(tmp_path / name / "model.safetensors")
        table = {"embeddings" if name == "model2vec" else "embedding.weight": weights["embeddings"]}
        save_file(table, tmp_path / name / "model.safetensors")
        for path in (tmp_path / name).glob("*.py"):
            path.unlink()
    (tmp_path / "model2vec" / "config.json").write_text('{"model_type": "model2vec"}')
    (tmp_path / "static" / "config.json").unlink()
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (tmp_path / "static" / "modules.json").write_text(json.dumps([module]))
    catalogue = ModelCatalogue([str(tmp_path)])
    assert catalogue.encoders == ["builtin", "multilingual", "model2vec", "static"]
    for name in catalogue.encoders:
        encoder = catalogue.encoder(name)
        first, second = (compute_word_vectors(encoder, text) for text in ("the doctor", "a car"))
        cosine = float(encoder.similarity("the doctor", "a car")[0, 0])
        assert compute_word_shares(first, second).sum() == pytest.approx(cosine, abs=1e-6)


def test_a_model_is_opened_once_and_one_that_does_not_open_is_refused_when_it_is_used(catalogue, tmp_path):
    with pytest.raises(UsageError, match="no sentence encoder"):
        ModelCatalogue([str(tmp_path)])
    with pytest.raises(ModelError):
        catalogue.encoder("damaged")
    assert catalogue.encoder("avg") is catalogue.encoder("avg") and catalogue.encoder("avg").dimension == 8
    for name in ("nmt", "absent", None):
        with pytest.raises(HfParaphraseError):
            catalogue.encoder(name)
