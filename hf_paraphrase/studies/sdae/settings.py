"""The settings of `train-sdae`, and what must hold among them."""

from __future__ import annotations

from dataclasses import dataclass

from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...settings import setting
from ...training.run import TrainingRunSettings
from ..expansion.expander import wordnet_folder
from .sentences import FEWEST_WORDS


@dataclass(kw_only=True)
class SdaeSettings(TrainingRunSettings):
    """Train a sequential denoising autoencoder on plain text (Hill, Cho and Korhonen 2016; paper 004).

    A GRU reads a sentence to which noise was added, and its last state is the sentence embedding; a second GRU says
    the sentence again as it was. What comes out is a sentence encoder for `encode`, `evaluate` and all other readers.
    """

    text: list[str] = setting(f"text files, one sentence a line, {PLAIN_OR_COMPRESSED}", [], path=True)
    pairs: list[str] = setting(
        "data folders whose sentences (split train) are the text, or more of it", [], path=True, dataset=True
    )
    columns: list[str] = setting(
        "the columns of --pairs that hold sentences, separated by commas or spaces, e.g. target for the target side "
        "of a bitext",
        ["sentence1", "sentence2"],
    )
    drop: float = setting("probability with which a word is deleted, drawn each epoch", 0.1, at_least=0, at_most=1)
    swap: float = setting("probability with which a bigram is swapped, drawn each epoch", 0.1, at_least=0, at_most=1)
    expansion: str | None = setting(
        "a WordNet folder, or auto to look for it as expand does: words are replaced by their definitions, drawn each "
        "epoch (paper 004, section 2.1)",
        None,
        path=True,
    )
    expansion_use: str = setting(
        "noise (the expanded sentence is read, with noise, and the original is reconstructed) or regulariser (the "
        "embeddings of both are drawn together)",
        "noise",
        only_with="expansion",
        choices=["noise", "regulariser"],
    )
    expansion_decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: definitions in them are not used; the sets OnWN and "
        "FNWN of STS 2012 to 2014 are made of WordNet's definitions",
        [],
        only_with="expansion",
        path=True,
    )
    expansion_weight: float = setting(
        "weight of 1 - cos(original, expanded) in the loss, beside a reconstruction loss that is summed over the "
        "words of a sentence (paper 004 does not say how much)",
        1.0,
        at_least=0,
        only_with={"expansion_use": "regulariser"},
    )
    hidden_size: int = setting(
        "components of the sentence embedding, and states of both GRUs (paper: 2400)", 600, above=0
    )
    embedding_size: int | None = setting(
        "components of a word vector [default: as the initial vectors, else 100]", None, above=0
    )
    readout_size: int | None = setting(
        "components of a linear layer before the softmax over the vocabulary, which saves time where the hidden size "
        "is large [default: no such layer, as in the authors' code]",
        None,
        above=0,
    )
    initialization: str = setting(
        "initial matrices: xavier, or reference (the authors' code: N(0, 0.01), which learns more slowly at first); "
        "those of the recurrence are orthogonal",
        "xavier",
        choices=["xavier", "reference"],
    )
    initial_vectors: str | None = setting(
        f"word vectors to start from: a file in the text layout of GloVe or word2vec, {PLAIN_OR_COMPRESSED}; a model "
        "folder with a table of them; or the folder of another sentence encoder, which is distilled",
        None,
        path=True,
    )
    fixed_vectors: bool = setting(
        "leave the initial vectors as they are; the decoder then has a table of its own, as in the authors' code",
        False,
        only_with="initial_vectors",
    )
    vocabulary_size: int = setting(
        "words in the vocabulary at most; 0 for all",
        30_000,
        at_least=0,
        names=["--vocabulary-size", "--vocab-size"],
    )
    max_words: int = setting("sentences of more words are left out", 100, at_least=FEWEST_WORDS)
    dev_size: int = setting(
        "sentences, drawn at random, that are held out to measure the reconstruction loss", 1000, above=0
    )
    max_steps: int = setting("updates (paper: 300,000 of 16 sentences)", 10_000, above=0)
    batch_size: int = setting("sentences in a batch on each process (paper: 16)", 64, above=0)
    learning_rate: float = setting("learning rate of Adam, constant", 2e-4, above=0)
    max_grad_norm: float = setting("clip the norm of the gradient to this; 0 does not clip", 2.0, at_least=0)
    evaluations: int = setting("dev losses and checkpoints, evenly spread over the updates", 10, above=0)
    precision: str = setting(
        "fp32; bf16: matrix products in bfloat16, weights, states and the loss in fp32; auto: bf16 where the machine "
        "multiplies it in hardware",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if not self.text and not self.pairs:
            raise UsageError("train-sdae: no text", remedy="give --text FILE… or --pairs DIR…")
        if self.pairs and not self.columns:
            raise UsageError("--columns names no column of --pairs", remedy="e.g. --columns target")

    def inputs(self) -> list[str]:
        """Lists the files and folders that are read, the text first."""
        others = (self.initial_vectors, wordnet_folder(self))
        given = [item for item in others if item is not None]
        return [*self.text, *self.pairs, *given, *self.expansion_decontaminate]
