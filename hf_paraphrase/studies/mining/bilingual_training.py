"""The command `train-bilingual-vectors`: trains word vectors of two languages in one space on a bitext."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...artefacts.fsspec_path import to_path
from ...artefacts.provenance import languages_read
from ...encoders.backends.torch_module import write_model_files
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError
from ...messages import log
from ...settings import recipe, setting
from ...training.run import TrainingRun, TrainingRunSettings
from .parallel_examples import SIDES, TRAIN, ParallelTextSettings, languages_of


@dataclass(kw_only=True)
class BilingualVectorSettings(ParallelTextSettings, TrainingRunSettings):
    """Train bilingual word vectors without word alignments (BilBOWA: Gouws et al. 2015).

    The output has two sentence encoders, source and target: means of word vectors, comparable by cosine.
    """

    dimension: int = setting("components of a vector", 300, above=0)
    epochs: int = setting("passes over the bitext", 10, above=0)
    window: int = setting("maximum distance of words that skip-gram predicts, drawn for each word", 5, above=0)
    negatives: int = setting("negative samples of skip-gram for each predicted word", 5, above=0)
    subsampling: float = setting("relative frequency above which words are subsampled; 0: none", 1e-4, at_least=0)
    aligned_weight: float = setting("weight of the squared distance of aligned sentences' means", 30.0, at_least=0)
    batch_size: int = setting("sentence pairs per batch", 256, above=0)
    learning_rate: float = setting("initial learning rate of Adam; it decays linearly to 0", 2e-2, above=0)


@recipe(BilingualVectorSettings)
def train_bilingual_vectors(settings: BilingualVectorSettings) -> tuple[SentenceEncoder, SentenceEncoder]:
    """Train word vectors of two languages in one space, without word alignments (BilBOWA: Gouws et al. 2015).

    Returns:
        The sentence encoders of the source and of the target language.
    """
    with TrainingRun(settings, command="train-bilingual-vectors", inputs=[settings.bitext]) as run:
        if not run.is_finished:
            _train(settings, run)
    source, target = (SentenceEncoder.from_pretrained(Path(settings.output) / side) for side in SIDES)
    return source, target


def _train(settings: BilingualVectorSettings, run: TrainingRun) -> None:
    import torch

    from ...models.configurations import AvgConfig
    from ...models.modeling_avg import AvgModel
    from ...training.epoch_trainer import EpochTrainingArguments
    from .bilingual_vectors import BilingualTrainer, BilingualVectors, known_words

    texts, tokenizers = settings.read()
    sides = [known_words(texts[TRAIN][side], tokenizer) for side, tokenizer in zip(SIDES, tokenizers, strict=True)]
    counts = [side.counts(len(tokenizer)) for side, tokenizer in zip(sides, tokenizers, strict=True)]
    if not all(occurrences.any() for occurrences in counts):
        remedy = "give more text, or a --min-frequency of 1"
        raise InputError("a language of the bitext has no words", path=settings.bitext, remedy=remedy)
    log(
        f"{len(sides[0].lengths):,} pairs; {len(counts[0]):,} and {len(counts[1]):,} words; "
        f"{counts[0].sum():,} and {counts[1].sum():,} occurrences"
    )
    arguments = run.arguments(EpochTrainingArguments, lr_scheduler_type="linear")
    model = BilingualVectors(counts, settings.dimension, settings.negatives, settings.aligned_weight, settings.seed)
    trainer = BilingualTrainer(model, arguments, sides, window=settings.window, subsampling=settings.subsampling)
    run.train(trainer)
    if not run.writes:
        return
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        table = trainer.model.tables[side]
        vocabulary = {"pad_token_id": tokenizer.pad_token_id, "unk_token_id": tokenizer.unk_token_id}
        config = AvgConfig(vocab_size=len(table), hidden_size=table.shape[1], skip_unknown=True, **vocabulary)
        encoder = AvgModel(config)
        with torch.no_grad():
            encoder.embeddings.copy_(table)
        write_model_files(run.folder / side, encoder, tokenizer)
    languages = languages_of(texts)
    run.write(
        results={
            "pairs": len(sides[0].lengths),
            "vocabulary": dict(zip(SIDES, map(len, tokenizers), strict=True)),
            "words": {name: len(side.ids) for name, side in zip(SIDES, sides, strict=True)},
        },
        template="bilingual_vectors",
        card={
            "epochs_asked": settings.epochs,
            "source_lang": languages[0],
            "target_lang": languages[1],
            "bitext_name": to_path(settings.bitext).name,
            "languages": languages_read(settings.bitext, english=False) or [*dict.fromkeys(filter(None, languages))],
        },
    )
    log(f"encoders saved to {settings.output}/source and {settings.output}/target. Mine candidates with:")
    log(
        f"  hf-paraphrase mine --source FILE --target FILE --source-encoder {settings.output}/source "
        f"--target-encoder {settings.output}/target --output mined"
    )
