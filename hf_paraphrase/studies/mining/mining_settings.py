"""The settings of the recipe `mine`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...data.text_blocks import COMPRESSED, PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...settings import seed_setting, setting
from ...training.devices import DeviceSettings
from .collections import LAYOUTS
from .embedding import EncoderFolders, FilterEncoderSettings
from .matching import MATCHINGS
from .scoring import COMBINATIONS, MARGINS


@dataclass(kw_only=True)
class MiningSettings(FilterEncoderSettings, DeviceSettings):
    """Find the translations between two collections of sentences, each in one language."""

    source: str = setting(f"text file of the source collection, {PLAIN_OR_COMPRESSED}", path=True)
    target: str = setting("text file of the target collection", path=True)
    output: str = setting(
        "the data folder to make: a bitext, the best pairs first, with the columns source_id, target_id and score"
    )
    source_lang: str = setting("code of the source language, for the column and the card", "")
    target_lang: str = setting("code of the target language", "")
    layout: str = setting(
        "lines: one sentence a line, whose number is its id; bucc: `id TAB sentence`, and the output also has the ids "
        "of the pairs, `source id TAB target id`, in pairs.gold",
        "lines",
        choices=LAYOUTS,
    )
    candidates: int = setting(
        "target sentences of the greatest cosine that are considered for a source sentence", 40, at_least=1
    )
    approximate: bool = setting(
        "search candidates in inverted lists instead of all targets; the share of the true candidates that "
        "are found is measured on a sample and printed",
        False,
    )
    probes: int = setting(
        "with --approximate: lists to read for a sentence; 0 = a sixteenth, at least 8",
        0,
        at_least=0,
        only_with="approximate",
    )
    margin: str | None = setting(
        "score a pair by its cosine against the mean cosine of the neighbourhoods of both sentences; ratio if no kind "
        "is named; absolute = the cosine",
        None,
        alone="ratio",
        choices=MARGINS,
    )
    neighbours: int = setting("with --margin: sentences in a neighbourhood", 4, at_least=1)
    scoring_encoder: str | None = setting(
        "folder of another encoder, for the cosine or margin of the score", None, path=True
    )
    source_scoring_encoder: str | None = setting("the same for the source language alone", None, path=True)
    target_scoring_encoder: str | None = setting("the same for the target language alone", None, path=True)
    classifier: str | None = setting(
        "folder of a classifier of parallel sentences, whose probability is the score; with --margin or "
        "--scoring-encoder it is combined with that score",
        None,
        path=True,
    )
    combine: str = setting("how two scores become one", "product", choices=COMBINATIONS)
    one_to_one: str | None = setting(
        "use no sentence twice: greedy takes pairs by falling score (what the bare flag means), exact those of the "
        "greatest total score",
        None,
        alone="greedy",
        choices=MATCHINGS,
    )
    threshold: float | None = setting("least score of a pair; without it and --tune-on all pairs are given", None)
    tune_on: str | None = setting(
        "choose the threshold with the best F1 on another pair of collections: PREFIX, of which the files are "
        "PREFIX.gold and PREFIX with the endings of --source and --target",
        None,
        excludes="threshold",
        prefix=True,
    )
    gold: str | None = setting(
        "file of the true pairs, `source id TAB target id`: precision, recall and F1 are printed",
        None,
        path=True,
    )
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    seed: int = seed_setting("with --approximate: seed of the lists")
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if len(set(self.tuning_files())) < len(self.tuning_files()):
            raise UsageError(
                f"--tune-on takes the endings of --source and --target, and both are `{_ending(self.source)}`"
                if _ending(self.source) == _ending(self.target)
                else "--tune-on cannot name its files: a side ends in .gold",
                remedy="give the files of the two languages different endings, e.g. news.fr and news.en",
            )
        self.filter_encoders()
        self.scoring_encoders()

    def scoring_encoders(self) -> EncoderFolders | None:
        """Returns the folders of the encoders of the score, None if it takes those that find the candidates."""
        flags = (self.scoring_encoder, self.source_scoring_encoder, self.target_scoring_encoder)
        return EncoderFolders.of(*flags, "scoring-encoder")

    def inputs(self) -> list[str]:
        """Lists the files and folders that are read, each once."""
        scoring = self.scoring_encoders()
        paths = [self.source, self.target, *self.filter_encoders().folders, *(scoring.folders if scoring else [])]
        paths += [path for path in (self.classifier, self.gold) if path is not None]
        return list(dict.fromkeys([*paths, *self.tuning_files()]))

    def tuning_files(self) -> tuple[str, ...]:
        """Returns the source, target and gold file of --tune-on; none without it."""
        if self.tune_on is None:
            return ()
        endings = (_ending(self.source), _ending(self.target), ".gold")
        return tuple(self.tune_on + ending for ending in endings)


def _ending(path: str) -> str:
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes and suffixes[-1] in COMPRESSED else suffixes[-1:])
