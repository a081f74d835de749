# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

__all__ = []
