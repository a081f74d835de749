"""The settings of `train-nmt`."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..settings import setting
from ..training.run import TrainingRunSettings

LEARNING_RATES = {"adam": 1e-3, "adadelta": 1.0}
"""The optimizers, with their usual learning rates."""


@dataclass(kw_only=True)
class TranslationTrainingSettings(TrainingRunSettings):
    """Train an RNNsearch model (GRU encoder-decoder with attention, paper 000 §3) from source to target language."""

    bitext: list[str] = setting(
        "data folders with the columns source and target, from `prepare bitext`; several are mixed, one that is named "
        "twice counts twice, and the dev set is that of the first",
        path=True,
    )
    initial_model: str | None = setting(
        "a translation model to continue from: its weights and its tokenizer are taken, and with them vocabulary, "
        "casing and sizes, whatever the flags say",
        None,
        path=True,
    )
    vocab_size: int = setting(
        "number of BPE units, joint or of each side",
        8_000,
        at_least=1,
        at_most=10_000_000,
        names=["--vocabulary-size", "--vocab-size"],
    )
    joint_vocabulary: bool = setting(
        "learn one set of BPE units for both sides, or one for each (which needs --no-share-embeddings)", True
    )
    lowercase: bool = setting(
        "lower-case both sides; the pairs that are made with such a model are lower-cased too, references and "
        "translations alike",
        False,
        names=["--lower-case", "--lowercase"],
    )
    hidden_size: int = setting("size of the GRU states (paper: 1000)", 512, at_least=2)
    embedding_size: int = setting("size of the word embeddings (paper: 620)", 320, at_least=1)
    dropout: float = setting(
        "dropout rate on embeddings, annotations and readout (paper: 0)", 0.3, at_least=0, below=1
    )
    word_dropout: float = setting(
        "share of whole word embeddings left out while training (paper: 0)", 0.0, at_least=0, below=1
    )
    label_smoothing: float = setting(
        "probability mass spread over the vocabulary in the loss (paper: 0)", 0.1, at_least=0, below=1
    )
    initialization: str = setting(
        "initial weights: the paper's small normal ones (reference), or Glorot's, which learn faster",
        "xavier",
        choices=["reference", "xavier"],
    )
    share_embeddings: bool = setting("one matrix for source, target and output embeddings (paper: false)", True)
    epochs: float = setting("passes over the training pairs", 20.0, above=0)
    batch_size: int = setting("sentence pairs per mini-batch and process", 80, at_least=1)
    gradient_accumulation_steps: int = setting("mini-batches per update", 1, at_least=1)
    optimizer: str = setting(
        "Adam with warm-up and cosine decay, or the paper's Adadelta (ρ 0.95, ε 1e-6) with a constant rate; the loss "
        "is the mean over target units and its gradient's norm is clipped to 1",
        "adam",
        choices=list(LEARNING_RATES),
    )
    learning_rate: float | None = setting(
        "peak learning rate of Adam, or constant factor of Adadelta's steps; 0.001 and 1 if not given", None, above=0
    )
    warmup_steps: int | None = setting(
        "steps of linear warm-up before the cosine decay to zero (Adam); 400, or a tenth of the run if that is "
        "shorter, if not given",
        None,
        at_least=0,
    )
    freeze_embeddings_epochs: float = setting(
        "epochs of a second stage in which both embeddings and the output layer are frozen; kept if dev BLEU rises",
        0.0,
        at_least=0,
    )
    freeze_embeddings_learning_rate: float | None = setting(
        "learning rate of that stage; a tenth of the first one's for Adam and the same for Adadelta if not given",
        None,
        above=0,
        only_with="freeze_embeddings_epochs",
    )
    evaluations: int = setting("how often to measure dev BLEU (greedy) and write a checkpoint", 20, at_least=1)
    max_words: int = setting("pairs with a longer side are left out, in words", 80, at_least=1)
    max_units: int | None = setting(
        "pairs with a longer side are left out, in BPE units (paper: 50)", None, at_least=1
    )
    dev_split: str = setting("split for choosing the checkpoint", "validation")
    max_dev_pairs: int = setting("dev pairs used during training", 1_000, at_least=1)
    precision: str = setting(
        "arithmetic of the matrix products: auto takes bf16 where the hardware has it",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.hidden_size % 2:
            raise UsageError(f"--hidden-size {self.hidden_size} must be even: the readout is halved by maxout")
        if not self.joint_vocabulary and self.share_embeddings:
            raise UsageError(
                "sides with units of their own cannot share embeddings", remedy="give --no-share-embeddings as well"
            )

    @property
    def peak_learning_rate(self) -> float:
        """The learning rate, that of the optimizer if none is given."""
        return self.learning_rate or LEARNING_RATES[self.optimizer]

    @property
    def second_learning_rate(self) -> float:
        """The learning rate of the second stage."""
        usual = self.peak_learning_rate / (1 if self.optimizer == "adadelta" else 10)
        return self.freeze_embeddings_learning_rate or usual
