"""Sequential denoising autoencoders as sentence encoders (Moskvichev & Steyvers; Hill et al. 2016).

Text goes in, an encoder comes out: `batches` drops and swaps words and puts sentences together, and `trainer` trains.
Start with `training`, the command `train-sdae`. The study `expansion` replaces words by their definitions.
"""

from __future__ import annotations
