# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import export

from .run import Exported, ExportSettings

__all__ = ["ExportSettings", "Exported", "export"]
