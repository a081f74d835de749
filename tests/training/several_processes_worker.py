"""What two processes do for test_several_processes.py: each notes why it is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import torch.distributed as distributed

from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.training.processes import check_in_common


def main(output):
    distributed.init_process_group("gloo")
    process = distributed.get_rank()
    messages = []
    for job, folder in ((0, output), (process, output), (0, output / f"of process {process}")):
        if process == 0:
            folder.mkdir(exist_ok=True)
        try:
            check_in_common(f"{job:02x}" * 32, folder)
            messages.append("")
        except HfParaphraseError as error:
            messages.append(str(error))
    (output / f"messages {process}").write_text("\n".join(messages))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
