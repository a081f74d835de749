"""The settings of the verbs that translate, for their models and their beam search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..errors import UsageError
from ..settings import Settings, setting
from ..training.devices import check_device

if TYPE_CHECKING:
    from .constraints import SearchConstraints


@dataclass(kw_only=True)
class SearchSettings(Settings):
    """The models that translate, and limits on their output."""

    GROUP: ClassVar[str] = "search for translations"

    model: list[str] = setting(
        "translation model folder, from train-nmt; several with one vocabulary translate together, by their mean "
        "log-probability",
        path=True,
    )
    length_penalty: float = setting(
        "exponent of the length by which scores are divided to rank, -50 to 50; 0 ranks by the sum",
        1.0,
        at_least=-50,
        at_most=50,
    )
    min_length_ratio: float = setting(
        "least length of a translation as a share of its source's, in units (reference: 0.5)", 0.0, at_least=0
    )
    max_length_ratio: float = setting(
        "greatest length of a translation as a multiple of its source's, in units (reference: 3)", 3.0
    )
    max_target_units: int = setting(
        "greatest length of a translation whatever its source, in units", 1_000, at_least=1
    )
    forbid_unknown: bool = setting("ban the unknown unit", False)
    no_repeat_ngram_size: int = setting(
        "no run of so many units comes twice in a translation; 0: no ban", 0, at_least=0
    )

    device: str | None = setting(
        "where the models compute: cpu, or a device of this machine as torch names it, such as cuda or cuda:1 "
        "[default: a GPU if there is one, of several processes each on its own]",
        None,
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.device is not None and getattr(self, "computes_here", True):
            check_device(self.device)
        if not self.min_length_ratio < self.max_length_ratio:
            raise UsageError(
                f"--max-length-ratio {self.max_length_ratio} must be above --min-length-ratio {self.min_length_ratio}"
            )

    def constraints(self) -> SearchConstraints:
        """Returns the limits as the search takes them."""
        from .constraints import SearchConstraints

        return SearchConstraints(
            min_length_ratio=self.min_length_ratio,
            max_length_ratio=self.max_length_ratio,
            max_units=self.max_target_units,
            forbid_unknown=self.forbid_unknown,
            no_repeat_ngram_size=self.no_repeat_ngram_size,
        )
