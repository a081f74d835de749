"""How batches reach the device of a Trainer: one place for all trainers that choose their batches themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch.utils.data import DataLoader
from transformers import Trainer


def training_batches(
    trainer: Trainer, dataset: Any, sampler: Iterable[list[Any]], *, workers: bool = False
) -> DataLoader[Any]:
    """Makes the loader of a Trainer's batches, prepared for its device and its share of them.

    Where there is a GPU, batches are made in pinned memory and copied from there without waiting, one ahead of the one
    that is trained on, so that making and copying a batch overlaps with the step before it.

    Args:
        trainer: The Trainer, whose collator makes the batches.
        dataset: The items.
        sampler: The numbers of the items of each batch.
        workers: Whether processes of their own may make the batches, as many as `dataloader_num_workers` says. Not
            where what is drawn changes with the epoch, which they are not told.
    """
    args = trainer.args
    loader: DataLoader[Any] = DataLoader(
        dataset,
        batch_sampler=sampler,
        collate_fn=trainer.data_collator,
        num_workers=args.dataloader_num_workers if workers else 0,
        persistent_workers=workers and args.dataloader_persistent_workers,
        pin_memory=args.dataloader_pin_memory and args.device.type == "cuda",
    )
    trainer.accelerator.dataloader_config.non_blocking = True
    trainer.accelerator.even_batches = False
    prepared: DataLoader[Any] = trainer.accelerator.prepare(loader)
    return prepared
