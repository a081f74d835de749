"""Training transformers and SentenceTransformer folders, and pairs with negatives."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tiny_training
import torch
from datasets import Dataset
from tiny_training import rows_of, sides
from tiny_transformers import static_module, tokenizer_of, write_model2vec, write_modules, write_transformer
from torch import nn
from transformers import AutoModel, AutoTokenizer, BertModel, T5Config, T5EncoderModel

from hf_paraphrase import train_encoder
from hf_paraphrase.encoders import EncoderTrainer, RankingLoss, SentenceEncoder, mine_hard_negatives
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.training.sparse_gradients import RowAdam


def rows(count=24):
    return rows_of(*sides(count))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """The folder of a tiny BERT without poolings."""
    folder = write_transformer(tmp_path_factory.mktemp("bert") / "tiny", initializer_range=0.1)
    (folder / "README.md").write_text("---\nlicense: cc-by-sa-4.0\nlanguage: en\n---\n# Tiny\n")
    return folder


TEXTS = ["the cat sat on a mat", "doctor in paris", "cars"]
SENTENCES = ["the cat", "a cat sat", "doctor in paris", "paris", "the cars", "a car", "on a mat", "mats", "cat , car"]


def sentence_rows():
    """Pairs that the tokenizer of the BERT knows."""
    return rows_of(SENTENCES, [f"{text} ." for text in SENTENCES])


def arguments(folder, **settings):
    settings = {"per_device_train_batch_size": 6, "learning_rate": 5e-3, "seed": 3, **settings}
    return tiny_training.arguments(folder, **settings)


@pytest.mark.parametrize("settings", [{"mega_batch_size": 2}, {"loss": "ranking", "gradient_checkpointing": True}])
def test_a_folder_of_transformers_learns_and_what_is_saved_opens_equal_everywhere(tmp_path, bert, settings):
    trainer = EncoderTrainer(bert, arguments(tmp_path, num_train_epochs=6, **settings), sentence_rows())
    before = trainer.encoder.encode(TEXTS)
    losses = trainer.train()
    assert losses.training_loss < 1.5 and np.abs(trainer.encoder.encode(TEXTS) - before).max() > 1e-2
    trainer.save_model(str(tmp_path / "saved"))
    expected = trainer.encoder.encode(TEXTS)
    np.testing.assert_allclose(SentenceEncoder.from_pretrained(tmp_path / "saved").encode(TEXTS), expected, atol=1e-6)
    model, tokenizer = AutoModel.from_pretrained(tmp_path / "saved"), AutoTokenizer.from_pretrained(tmp_path / "saved")
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    hidden, mask = model(**inputs).last_hidden_state, inputs["attention_mask"].unsqueeze(2)
    np.testing.assert_allclose(((hidden * mask).sum(1) / mask.sum(1)).detach().numpy(), expected, atol=1e-5)
    card = (tmp_path / "saved/README.md").read_text()
    assert "license: cc-by-sa-4.0" in card and bert.name in card
    assert not list((tmp_path / "saved").glob("*.py"))


def test_a_transformer_object_takes_the_steps_of_a_plain_loop_with_special_tokens(tmp_path, bert):
    model = BertModel.from_pretrained(bert, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    reference = BertModel.from_pretrained(bert, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    tokenizer = AutoTokenizer.from_pretrained(bert)
    pairs = sentence_rows()[:6]
    trainer = EncoderTrainer(model, arguments(tmp_path, max_steps=1, loss="ranking"), pairs, tokenizer)
    trainer.train()
    order = [pair for _, pair in next(iter(trainer.batches))]
    texts = [pairs[pair]["sentence1"] for pair in order] + [pairs[pair]["sentence2"] for pair in order]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    hidden, mask = reference(**inputs).last_hidden_state, inputs["attention_mask"].unsqueeze(2)
    unit = nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
    nn.functional.cross_entropy(20 * unit[:6] @ unit[6:].T, torch.arange(6)).backward()
    torch.optim.Adam(reference.parameters(), lr=5e-3).step()
    for name, value in reference.named_parameters():
        # The bias of keys changes no attention: its gradient is rounding, which Adam enlarges.
        if value.grad is not None and not name.endswith("key.bias"):
            torch.testing.assert_close(model.get_parameter(name), value, atol=2e-4, rtol=1e-3)


def test_dense_layers_of_a_sentence_transformer_folder_are_trained_and_saved(library, tmp_path, bert):
    def make(m):
        first = m.Transformer(str(bert), max_seq_length=8)
        return [first, m.Pooling(16, "cls"), m.Dense(16, 6), m.Normalize()]

    write_modules(tmp_path / "st", make)
    trainer = EncoderTrainer(str(tmp_path / "st"), arguments(tmp_path / "run"), sentence_rows())
    weight = trainer.model.layers[0].linear.weight.detach().clone()
    trainer.train()
    assert not torch.equal(trainer.model.layers[0].linear.weight, weight)
    trainer.save_model(str(tmp_path / "saved"))
    texts = ["the cat sat", "doctor " * 20]
    expected = trainer.encoder.encode(texts, normalize=True)
    again = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(again.encode(texts), expected, atol=1e-5)
    assert again.max_seq_length == 8
    # The object itself is as good as its folder.
    more = EncoderTrainer(again, arguments(tmp_path / "more"), sentence_rows(), loss=RankingLoss())
    np.testing.assert_allclose(more.encoder.encode(texts), expected, atol=1e-5)
    more.train()
    assert np.abs(more.encoder.encode(texts) - expected).max() > 1e-3


def write_static(folder):
    """Modules that only sentence-transformers has."""
    write_modules(folder, lambda m: [static_module(m, columns=8), m.Dense(8, 6), m.Normalize()])


def write_t5(folder):
    """A T5 without its decoder."""
    tokenizer = tokenizer_of("bert")
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    T5EncoderModel(T5Config(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize("write", [write_static, write_t5])
def test_other_models_of_sentence_transformers_are_opened_trained_and_saved(library, tmp_path, write):
    write(tmp_path / "start")
    trainer = EncoderTrainer(
        str(tmp_path / "start"), arguments(tmp_path / "run", save_strategy="epoch"), sentence_rows()
    )
    for name in ("start", "saved"):
        theirs = library.SentenceTransformer(str(tmp_path / name), device="cpu", local_files_only=True)
        np.testing.assert_allclose(trainer.encoder.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)
        if name == "start":
            before = [value.clone() for value in trainer.model.parameters()]
            trainer.train()
            assert not any(map(torch.equal, before, trainer.model.parameters()))
            trainer.save_model(str(tmp_path / "saved"))


def test_a_table_of_model2vec_is_trained_on_as_an_average(tmp_path):
    tokenizer = tokenizer_of("bert").backend_tokenizer
    write_model2vec(tmp_path / "table", tokenizer, config={})
    before = SentenceEncoder.from_pretrained(tmp_path / "table").encode(TEXTS)
    made = [
        train_encoder(pairs=sentence_rows(), initial_model=start, epochs=epochs, output=tmp_path / name)
        for name, start, epochs in (
            ("untrained", tmp_path / "table", 0),
            ("folder", tmp_path / "table", 1),
            ("object", SentenceEncoder.from_pretrained(tmp_path / "table"), 1),
        )
    ]
    np.testing.assert_allclose(made[0].encode(TEXTS), before, atol=1e-6)
    np.testing.assert_array_equal(made[1].encode(TEXTS), made[2].encode(TEXTS))
    assert made[1].model.config.model_type == "avg" and np.abs(made[1].encode(TEXTS) - before).max() > 1e-4
    write_model2vec(tmp_path / "unit", tokenizer, normalize=True)
    trainer = EncoderTrainer(str(tmp_path / "unit"), arguments(tmp_path / "run"), sentence_rows())
    trainer.save_model(str(tmp_path / "saved"))
    saved = SentenceEncoder.from_pretrained(tmp_path / "saved").encode(TEXTS)
    np.testing.assert_allclose(saved, trainer.encoder.encode(TEXTS), atol=1e-6)


def test_texts_longer_than_a_model_reads_are_counted_once(tmp_path, bert, caplog):
    caplog.set_level("INFO")
    long = [{"sentence1": "cat " * 30, "sentence2": "cat"}, *sentence_rows()]
    EncoderTrainer(bert, arguments(tmp_path), long)
    assert "1 texts have more than 24 tokens" in caplog.text


@pytest.mark.parametrize("names", [("anchor", "positive", "negative_1"), ("query", "pos", "neg")])
def test_pairs_may_be_called_as_others_call_them_and_bring_negatives(tmp_path, names):
    data = [dict(zip(names, (f"a{n} x", f"b{n} x", f"a{n + 6} x"), strict=True)) for n in range(6)]
    trainer = EncoderTrainer("avg", arguments(tmp_path), Dataset.from_list(data))
    batch = trainer.training_objective.collate([(0, pair) for pair in range(6)])
    assert len(batch["input_ids"]) == 18 and batch["pairs"] == 6


def test_json_lines_with_lists_make_a_pair_of_each_positive_and_all_their_negatives(tmp_path):
    lines = [{"query": "a1", "pos": ["b1", "b2"], "neg": ["a5", "a6"]}, {"query": "a2", "pos": ["b3"], "neg": []}]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    trainer = EncoderTrainer("avg", arguments(tmp_path), str(tmp_path / "pairs.jsonl"))
    pairs = trainer.training_objective.collator.pairs
    assert len(pairs) == 3 and pairs.negative_offsets.tolist() == [0, 2, 4, 4]
    with pytest.raises(InputError, match="the columns are text"):
        (tmp_path / "pairs.txt").write_text("a\tb\n")
        EncoderTrainer("avg", arguments(tmp_path), str(tmp_path / "pairs.txt"))


def test_given_negatives_are_trained_on_and_columns_that_are_not_used_are_named(tmp_path, caplog):
    names = ("anchor", "positive", "negative", "topic", "source_lang", "target_lang", "overlap_2", "score")
    values = [(f"a{n} a{n}", f"b{n} b{n}", f"a{n} b{n + 6}", "x", "a", "b", 0.5, 1.0) for n in range(6)]
    data = [dict(zip(names, row, strict=True)) for row in values]
    cosines = []
    for rows in (data, [dict(list(row.items())[:2]) for row in data]):
        folder = tmp_path / str(len(cosines))
        trainer = EncoderTrainer(
            "avg", arguments(folder, num_train_epochs=30, learning_rate=0.05), Dataset.from_list(rows)
        )
        trainer.train()
        assert type(trainer.optimizer.optimizer) is RowAdam
        cosines.append(np.mean([trainer.encoder.similarity(row["anchor"], row["negative"])[0, 0] for row in data]))
    assert "columns of the pairs that are not used: topic, score\n" in caplog.text and cosines[0] < cosines[1]
    assert "all pairs count as paraphrases, whatever their score: --loss labelled" in caplog.text


def test_labels_choose_the_weights_by_average_precision_and_scores_by_pearson(tmp_path):
    labelled = [{**row, "label": number % 2} for number, row in enumerate(rows())]
    trainer = EncoderTrainer("avg", arguments(tmp_path), rows(), eval_dataset=labelled)
    trainer.train()
    encoder, measured = trainer.encoder, trainer.best_scores()["dev_mean"]
    cosines = [encoder.similarity(row["sentence1"], row["sentence2"])[0, 0] for row in labelled]
    order = np.argsort(cosines)[::-1]
    hits = np.array([labelled[row]["label"] for row in order])
    expected = 100 * (hits.cumsum() / np.arange(1, len(hits) + 1))[hits == 1].mean()
    assert measured == pytest.approx(expected, abs=1e-6)


def test_a_training_that_does_not_beat_its_start_says_so(tmp_path, caplog):
    values, args = iter([50.0, 40.0, 45.0]), arguments(tmp_path)
    before = args.to_dict()
    EncoderTrainer("avg", args, rows(), evaluator=lambda encoder: next(values)).train()
    assert "did not improve the initial weights: dev_mean was 50.00 before and is 45.00 at best" in caplog.text
    # The arguments stay as they are, and serve a second trainer.
    assert args.to_dict() == before
    EncoderTrainer("avg", args, rows()).train()


def test_hard_negatives_are_the_nearest_sentences_that_no_pair_relates(bert):
    table = {"red car": [1, 0, 0], "crimson auto": [1, 0.1, 0], "red van": [1, 0.5, 0], "blue sea": [0, 0, 1]}
    table |= {"scarlet car": [1, 0.05, 0], "azure ocean": [0, 0.1, 1], "truck": [1, 0.6, 0.1]}

    class Fixed:
        def encode(self, texts):
            return np.array([table[text] for text in texts], np.float32)

    first = ["red car", "red car", "truck", "blue sea"]
    second = ["crimson auto", "scarlet car", "red van", "azure ocean"]
    found = mine_hard_negatives(rows_of(first, second), Fixed())
    assert found["negative_1"] == ["red van", "red van", "crimson auto", "crimson auto"]
    assert found.column_names == ["sentence1", "sentence2", "negative_1"]
    options = {"num_negatives": 2, "relative_margin": None}
    found = mine_hard_negatives(rows_of(first, second), Fixed(), **options)
    assert found["negative_1"][0] == "red van" and found["negative_2"][0] == "azure ocean"
    for limit in ({"max_score": 0.5}, {"absolute_margin": 0.5}, {"range_min": 1, "range_max": 2}):
        found = mine_hard_negatives(rows_of(first, second), Fixed(), relative_margin=None, **limit)
        assert found["negative_1"][0] == "azure ocean"
    found = mine_hard_negatives(rows_of(first, second), Fixed(), min_score=0.95)
    assert found["negative_1"][0] is None
    wrong = [{"range_min": -1}, {"range_min": 2, "range_max": 2}, {"range_max": 0}, {"max_pairs": 0}]
    names = ("max_score", "min_score", "absolute_margin", "relative_margin")
    for option in [*wrong, *({name: float("nan")} for name in names)]:
        with pytest.raises(UsageError, match=f"^{list(option)[-1]} must be "):
            mine_hard_negatives(rows_of(first, second), Fixed(), **option)


def test_a_model_of_transformers_with_a_method_encode_is_not_taken_for_one_of_sentence_transformers(tmp_path, bert):
    model = BertModel.from_pretrained(bert)
    model.encode = model.forward
    trainer = EncoderTrainer(model, arguments(tmp_path), rows(), AutoTokenizer.from_pretrained(bert))
    assert trainer.model.transformer is model


def test_what_cannot_be_trained_is_refused_in_a_line(tmp_path, bert):
    model, tokenizer = BertModel.from_pretrained(bert), AutoTokenizer.from_pretrained(bert)
    tokenizer.pad_token = None
    with pytest.raises(UsageError, match="no padding token"):
        EncoderTrainer(model, arguments(tmp_path), rows(), tokenizer)
    with pytest.raises(UsageError, match="scramble and lambda_w are for encoders with word vectors"):
        EncoderTrainer(bert, arguments(tmp_path, lambda_w=0.5), rows())
    with pytest.raises(InputError, match="there are no rows"):
        EncoderTrainer(bert, arguments(tmp_path), [])


def test_the_licence_of_the_builtin_encoder_stays_with_what_is_trained_from_it(tmp_path):
    start = SentenceEncoder.from_pretrained()
    data = rows_of(["a dog barks", "rain"], ["the hound barks", "it rains"])
    for name, options in (("encoder", (start,)), ("parts", (start.model,))):
        tokenizer = None if name == "encoder" else start.tokenizer
        trainer = EncoderTrainer(*options, arguments(tmp_path, max_steps=1), data, tokenizer)
        trainer.save_model(str(tmp_path / name))
        card = (tmp_path / name / "README.md").read_text()
        assert "license: cc-by-sa" in card and "license: unknown" not in card
        assert json.loads((tmp_path / name / "provenance.json").read_text())["inputs"][0]["license"]
