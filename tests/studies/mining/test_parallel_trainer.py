from __future__ import annotations

import numpy as np
import pytest
import torch
from parallel_pairs import examples_of, many, model_of, trainer_of
from torch.nn import functional

from hf_paraphrase.studies.mining.parallel_examples import TRAIN, VALIDATION, NegativeDraw
from hf_paraphrase.studies.mining.parallel_trainer import measure


def test_the_loss_of_a_batch_is_that_of_its_pairs_scored_one_by_one(tmp_path):
    examples = examples_of(many(40))
    trainer = trainer_of(tmp_path, examples, model_of(examples), negatives=3)
    items = [(0, row) for row in (4, 9, 2, 30)]
    batch = trainer._collate(items)
    loss = trainer.compute_loss(trainer.model, batch)
    pairs = examples.pairs[TRAIN][[4, 9, 2, 30]]
    drawn = trainer.draw(pairs, [3, *items[0]])
    losses = []
    for (source, target), others in zip(pairs, drawn, strict=True):
        for number, label in [(target, 1.0), *((other, 0.0) for other in others)]:
            sides = [
                torch.from_numpy(side.ids.of_texts(np.array([row])))[None]
                for side, row in ((examples.source, source), (examples.target, number))
            ]
            logit = trainer.model(sides[0], None, sides[1]).logits[0]
            losses.append(functional.binary_cross_entropy_with_logits(logit, torch.tensor(label)))
    assert len(losses) == 16
    torch.testing.assert_close(loss, torch.stack(losses).mean())
    assert len(batch["source_input_ids"]) == 4 and len(batch["target_input_ids"]) == len(
        np.unique(np.concatenate([pairs[:, 1], drawn.ravel()]))
    )


def test_scores_are_those_computed_by_hand():
    examples = examples_of(many(30), many(9, seed=4))
    model = model_of(examples).eval()
    rows, labels = NegativeDraw(examples, 4).labelled(examples.pairs[VALIDATION], [0])
    found = measure(model, examples, rows, labels)
    logits = []
    with torch.no_grad():
        for source, target in rows:
            sides = [
                torch.from_numpy(side.ids.of_texts(np.array([row])))[None]
                for side, row in ((examples.source, source), (examples.target, target))
            ]
            logits.append(model(sides[0], None, sides[1]).logits[0].item())
    logits = torch.tensor(logits)
    expected = functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(labels).float())
    assert found["loss"] == pytest.approx(expected.item(), abs=1e-5)
    f1 = []
    for threshold in logits:
        chosen = (logits >= threshold).numpy()
        f1.append(200 * (chosen & (labels == 1)).sum() / (chosen.sum() + 9))
    assert found["best_f1"] == pytest.approx(max(f1))
    assert found["threshold"] == pytest.approx(logits[int(np.argmax(f1))].sigmoid().item(), abs=1e-6)
