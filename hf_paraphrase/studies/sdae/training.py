"""The command `train-sdae`: trains a sentence encoder on plain text by denoising."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.fsspec_path import to_path
from ...artefacts.provenance import languages_read
from ...data.decontamination import DecontaminationSettings
from ...data.folder import DataFolder
from ...data.sentences import SentenceCorpus, naming
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...encoders.backends.torch_module import write_model_files
from ...encoders.model_folder import collect_card_values, count_sizes, inherit_card_values
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...messages import is_main_process, log
from ...settings import recipe, setting
from ...training.run import TrainingRun, TrainingRunSettings
from ..expansion.expander import SHARE, Expander
from ..expansion.wordnet import find_wordnet

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ...training.word_vectors import WordVectors
    from .trainer import SdaeSentences

FEWEST_WORDS = 2
"""Minimum length of a sentence: swapping needs two words."""
_WORD_SIZE = 100
"""Default number of components of a word vector, as in the authors' code."""
_MIN_FREQUENCY = 2
_SPECIAL_TOKENS = 2
"""Padding and the unknown word."""


@dataclass(kw_only=True)
class SdaeSettings(DecontaminationSettings, TrainingRunSettings):
    """Train a sequential denoising autoencoder on plain text (Hill, Cho and Korhonen 2016; Moskvichev & Steyvers).

    A GRU reads a noisy sentence, and its last state is the sentence embedding; a second GRU reconstructs the original
    sentence. The result is a sentence encoder, which `encode`, `evaluate` and others open.
    """

    text: list[str] = setting(f"text files, one sentence per line, {PLAIN_OR_COMPRESSED}", [], path=True)
    pairs: list[str] = setting("data folders with more sentences, in the split train", [], path=True, dataset=True)
    columns: list[str] = setting("columns of --pairs to train on, e.g. target", ["sentence1", "sentence2"])
    drop: float = setting("probability of deleting a word, drawn in each epoch", 0.1, at_least=0, at_most=1)
    swap: float = setting("probability of swapping a bigram, drawn in each epoch", 0.1, at_least=0, at_most=1)
    expansion: str | None = setting(
        "a WordNet folder, or auto to search for it: definitions replace words, drawn in each epoch", None, path=True
    )
    expansion_use: str = setting(
        "noise: read the expanded sentence, with noise, and reconstruct the original; regulariser: pull the "
        "embeddings of both together",
        "noise",
        only_with="expansion",
        choices=["noise", "regulariser"],
    )
    decontaminate: list[str] = setting(
        "evaluation files, folders or fingerprints, e.g. STS 2012 to 2014: definitions in them are not used",
        [],
        only_with="expansion",
        path=True,
        dataset=True,
        names=["--decontaminate", "--expansion-decontaminate"],
    )
    expansion_weight: float = setting(
        "weight of 1 - cos(original, expanded) in the loss (not given in the paper)",
        1.0,
        at_least=0,
        only_with={"expansion_use": "regulariser"},
    )
    hidden_size: int = setting("components of the sentence embedding and of both GRUs (paper: 2400)", 600, above=0)
    embedding_size: int | None = setting(
        "components of a word vector [default: as the initial vectors, else 100]", None, above=0
    )
    readout_size: int | None = setting(
        "components of a linear layer before the softmax, which saves time [default: no layer]", None, above=0
    )
    initialization: str = setting(
        "initial matrices: xavier, or reference: N(0, 0.01), as in the authors' code",
        "xavier",
        choices=["xavier", "reference"],
    )
    initial_vectors: str | None = setting(
        f"initial word vectors: a file of GloVe or word2vec, {PLAIN_OR_COMPRESSED}; a model folder with a table; or "
        "another sentence encoder, which is distilled",
        None,
        path=True,
    )
    fixed_vectors: bool = setting(
        "do not train the initial vectors; the decoder gets its own table", False, only_with="initial_vectors"
    )
    vocab_size: int = setting("maximum size of the vocabulary; 0: all", 30_000, at_least=0, formerly="vocabulary_size")
    max_words: int = setting("leave out sentences of more words than this", 100, at_least=FEWEST_WORDS)
    dev_size: int = setting("sentences to hold out, at random, for the reconstruction loss", 1000, above=0)
    max_steps: int = setting("updates (paper: 300,000 of 16 sentences)", 10_000, above=0)
    batch_size: int = setting("sentences per batch and process (paper: 16)", 64, above=0)
    learning_rate: float = setting("learning rate of Adam, constant", 2e-4, above=0)
    max_grad_norm: float = setting("clip the norm of the gradient to this; 0 does not clip", 2.0, at_least=0)
    evaluations: int = setting("number of dev losses and checkpoints, evenly spaced over the updates", 10, above=0)
    precision: str = setting(
        "fp32; bf16: matrix products in bfloat16; auto: bf16 if the hardware supports it",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if not self.text and not self.pairs:
            raise UsageError("train-sdae: no text", remedy="give --text FILE… or --pairs DIR…")

    @property
    def wordnet(self) -> str | None:
        """The folder with WordNet's files; None without `--expansion`."""
        if self.expansion is None:
            return None
        return str(find_wordnet(None if self.expansion == "auto" else self.expansion))

    def inputs(self) -> list[str]:
        """List the files and folders to read, the text first."""
        given = [path for path in (self.initial_vectors, self.wordnet) if path is not None]
        return [*self.text, *self.pairs, *given, *self.decontaminate]


@recipe(SdaeSettings)
def train_sdae(settings: SdaeSettings) -> SentenceEncoder:
    """Train a sequential denoising autoencoder on plain text (Hill, Cho and Korhonen 2016; Moskvichev & Steyvers)."""
    with TrainingRun(settings, command="train-sdae", inputs=settings.inputs()) as run:
        if not run.is_finished:
            _train(settings, run)
    return SentenceEncoder.from_pretrained(settings.output)


def _train(settings: SdaeSettings, run: TrainingRun) -> None:
    from ...training.devices import is_bf16
    from ...training.epoch_trainer import EpochTrainingArguments
    from .trainer import SdaeCollator, SdaeTrainer, WordNoise, encode_sentences

    corpora = [SentenceCorpus(path) for path in settings.text]
    corpora += [SentenceCorpus(path, settings.columns) for path in settings.pairs]
    expander = None
    if settings.wordnet is not None:
        decontaminator = settings.decontaminator()
        expander = Expander.from_wordnet(settings.wordnet, decontaminator, seed=settings.seed)
        if decontaminator is None:
            log("definitions may be sentences of STS (OnWN, FNWN): --decontaminate leaves them out")
    tokenizer, vectors = _vocabulary(settings, _lines(corpora))
    lengths = {"min_words": FEWEST_WORDS, "max_words": settings.max_words}
    sentences, left_out = encode_sentences(_lines(corpora), tokenizer, **lengths, keep_text=expander is not None)
    train, dev = _split(settings, sentences)
    log(
        f"{len(train):,} sentences to train on, {train.tokens.lengths.mean():.1f} words each, {len(dev):,} held out; "
        f"{left_out:,} left out: repeated, or not of {FEWEST_WORDS} to {settings.max_words} words"
    )
    if expander is not None and not expander.expand_counted(dev.texts).expandable.any():
        remedy = "expansion is for English; leave it out"
        raise InputError("no word of the dev sentences can be expanded", path=settings.inputs()[0], remedy=remedy)
    model, coverage = _model(settings, tokenizer, vectors, train)
    noise = WordNoise(settings.drop, settings.swap)
    steps = math.ceil(settings.max_steps / min(settings.evaluations, settings.max_steps))
    names = ("logging", "eval", "save")
    arguments = run.arguments(
        EpochTrainingArguments,
        max_steps=settings.max_steps,
        max_grad_norm=settings.max_grad_norm,
        load_best_model_at_end=False,
        bf16=is_bf16(settings.precision, settings.device),
        **{f"{name}_strategy": "steps" for name in names},
        **{f"{name}_steps": steps for name in names},
    )
    trainer = SdaeTrainer(
        model,
        arguments,
        SdaeCollator(train, tokenizer, noise, settings.seed, expander, settings.expansion_use),
        # Without expansion, so that dev losses are comparable.
        SdaeCollator(dev, tokenizer, noise, settings.seed),
        compositionality_weight=settings.expansion_weight,
        report=log,
    )
    run.train(trainer)
    if not run.writes:
        return
    model, scores = trainer.accelerator.unwrap_model(trainer.model), trainer.scores()
    trained = sum(parameter.numel() for parameter in model.parameters())
    # Embedding sentences does not need it.
    model.decoder = None
    model.config.has_decoder = False
    write_model_files(run.folder, model, tokenizer)
    start = "random"
    if settings.initial_vectors is not None:
        use = "fixed" if settings.fixed_vectors else "trained further"
        start = f"{to_path(settings.initial_vectors).name} ({coverage}), {use}"
    run.write(
        results={
            "sentences": len(train),
            "left_out": left_out,
            "coverage": None if coverage is None else vars(coverage),
            "steps": trainer.state.global_step,
            "epochs": trainer.state.epoch,
            "bf16": arguments.bf16,
            "dev_loss": scores[-1]["loss"],
            "dev_scores": scores,
            "parameters_in_training": trained,
            **count_sizes(model),
        },
        template="sdae",
        card={
            **collect_card_values(model, Path(settings.output).name),
            **inherit_card_values(settings.license, settings.initial_vectors),
            "languages": _languages(settings),
            "text_names": ", ".join(to_path(path).name for path in [*settings.text, *settings.pairs]),
            "vectors_name": start,
            "expansion_name": None if settings.wordnet is None else to_path(settings.wordnet).name,
            "expansion_share": SHARE,
        },
    )
    log(f"encoder saved to {settings.output}. Use it with:")
    log(f"  hf-paraphrase encode --model {settings.output} --input FILE --output FILE.npy")
    log(f"  SentenceEncoder.from_pretrained({settings.output!r})  # from hf_paraphrase import SentenceEncoder")


def _lines(corpora: list[SentenceCorpus]) -> Iterator[str]:
    return (text or "" for corpus in corpora for block in corpus.blocks() for text in block)


def _vocabulary(settings: SdaeSettings, lines: Iterator[str]) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Build the tokenizer and read the initial vectors."""
    from ...encoders.encoder_vocabulary import word_level_vocabulary

    with naming(settings.inputs()[0]):
        tokenizer, vectors = word_level_vocabulary(
            lines,
            vocab_size=settings.vocab_size or None,
            min_frequency=_MIN_FREQUENCY,
            initial_vectors=settings.initial_vectors,
            dimension=settings.embedding_size,
            show_progress_bar=is_main_process(),
        )
        if len(tokenizer) < 2 + _SPECIAL_TOKENS:
            raise InputError("the text has fewer than two words", remedy="give more text, or raise --vocab-size")
    return tokenizer, vectors


def _split(settings: SdaeSettings, sentences: SdaeSentences) -> tuple[SdaeSentences, SdaeSentences]:
    """Draw the training sentences and the held-out sentences."""
    if len(sentences) < 2:
        problem = f"fewer than two different sentences of {FEWEST_WORDS} to {settings.max_words} words"
        raise InputError(problem, path=settings.inputs()[0], remedy="give running text, one sentence per line")
    order = np.random.default_rng([settings.seed, 1]).permutation(len(sentences))
    held_out = min(settings.dev_size, len(sentences) // 2)
    return sentences.take(np.sort(order[held_out:])), sentences.take(np.sort(order[:held_out]))


def _model(
    settings: SdaeSettings, tokenizer: PreTrainedTokenizerFast, vectors: WordVectors | None, train: SdaeSentences
) -> tuple[PreTrainedModel, Any]:
    """Make the model with its initial vectors; return it and the coverage of the vectors (None without vectors)."""
    from transformers import set_seed

    from ...models.configurations import SdaeConfig
    from ...models.modeling_sdae import SdaeModel
    from ...training.word_vectors import fill_embeddings

    size = settings.embedding_size or (_WORD_SIZE if vectors is None else vectors.matrix.shape[1])
    set_seed(settings.seed)
    model = SdaeModel(
        SdaeConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden_size,
            embedding_size=size,
            readout_size=settings.readout_size,
            share_embeddings=not settings.fixed_vectors,
            initialization=settings.initialization,
            pad_token_id=tokenizer.pad_token_id,
            unk_token_id=tokenizer.unk_token_id,
        )
    )
    log(f"sdae: {model.num_parameters():,} parameters, {len(tokenizer):,} token vectors of {size} components")
    if vectors is None:
        return model, None
    counts = train.tokens.counts(len(tokenizer))
    coverage = fill_embeddings(model.embeddings, tokenizer, vectors, counts, settings.seed)
    model.embeddings.requires_grad_(not settings.fixed_vectors)
    log(f"initial vectors: {coverage}")
    return model, coverage


def _languages(settings: SdaeSettings) -> list[str]:
    """Return English if words are expanded, else the languages of the pairs."""
    if settings.expansion is not None:
        return ["en"]
    languages: set[str] = set()
    for folder in settings.pairs:
        opened = DataFolder(folder)
        present = opened.schema().names
        sides = [f"{column}_lang" for column in opened.rows().columns_named(settings.columns)]
        if set(sides) <= set(present):
            rows = next(iter(opened.batches("train", sides)))
            languages.update(value for name in sides for value in rows.column(name).to_pylist() if value)
        else:
            languages.update(languages_read(folder, english=False))
    return sorted(languages)
