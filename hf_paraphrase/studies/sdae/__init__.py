"""Sequential denoising autoencoders as sentence encoders (Moskvichev & Steyvers; Hill et al. 2016).

The input is text, the output an encoder: `trainer` drops and swaps words and trains. Start with `training`, the
command `train-sdae`. The study `expansion` replaces words by their definitions.
"""

from __future__ import annotations
