"""Expands blocks of sentences in several processes, with results in order and few blocks in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

from ...data.evaluation_sets import load_fingerprints
from ...errors import HfParaphraseError
from .expander import SHARE, Expanded, Expander

T = TypeVar("T", bound=Sequence[str])


@dataclass(frozen=True)
class ExpanderSettings:
    """All that decides what becomes of a sentence.

    Attributes:
        wordnet: As for :class:`~.wordnet.WordNet`.
        share: As for :class:`~.expander.Expander`, like the rest.
        senses: `first` or `random`.
        decontaminate: Evaluation files or folders, or lists of fingerprints: definitions in them are not used.
        at_least: Expand at least so many words of a sentence.
    """

    wordnet: str | None = None
    share: float = SHARE
    seed: int = 0
    senses: str = "first"
    whole: bool = False
    epoch: int = 0
    decontaminate: tuple[str, ...] = ()
    at_least: int = 0

    def open(self) -> Expander:
        """Makes the expander."""
        return Expander.from_wordnet(
            self.wordnet,
            share=self.share,
            seed=self.seed,
            senses=self.senses,
            whole=self.whole,
            at_least=self.at_least,
            avoid=load_fingerprints(self.decontaminate) if self.decontaminate else None,
        )


def expand_blocks(settings: ExpanderSettings, blocks: Iterable[T], workers: int = 1) -> Iterator[tuple[T, Expanded]]:
    """Expands blocks of sentences.

    Yields:
        Each block with its expansion, in order; they do not depend on the number of processes.
    """
    # Opened here in any case, so that what is wrong with it shows before the work.
    expander = settings.open()
    if workers <= 1:
        for block in blocks:
            yield block, expander.expand_counted(block, settings.epoch)
        return
    waiting: deque[tuple[T, Future[Expanded]]] = deque()
    # A forked process would inherit the threads' locks of the libraries, but not the threads.
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin) as pool:
        try:
            for block in blocks:
                waiting.append((block, pool.submit(_expand, settings, block)))
                if len(waiting) >= 2 * workers:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        except BrokenProcessPool as error:
            raise HfParaphraseError(
                "one of the processes that expand was killed, perhaps because there is not enough memory",
                remedy="give fewer --num-workers",
            ) from error
        finally:
            for _, future in waiting:
                future.cancel()


def _begin() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    Thread(target=_end_with_parent, daemon=True).start()


def _expand(settings: ExpanderSettings, block: Sequence[str]) -> Expanded:
    return _opened(settings).expand_counted(block, settings.epoch)


@cache
def _opened(settings: ExpanderSettings) -> Expander:
    return settings.open()


def _end_with_parent() -> None:
    """A killed parent says nothing to its processes, which would otherwise wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
