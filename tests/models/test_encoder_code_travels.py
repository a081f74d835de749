from __future__ import annotations

import torch

from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.configuration_recurrent import RecurrentConfig
from hf_paraphrase.models.configuration_sdae import SdaeConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.models.modeling_recurrent import RecurrentModel
from hf_paraphrase.models.modeling_sdae import SdaeModel

SCRIPT = """
import sys, torch
from transformers import AutoModel
for name in sys.argv[1:]:
    model = AutoModel.from_pretrained(name, trust_remote_code=True).eval()
    assert model.__class__.__module__.startswith("transformers_modules")
    vectors = model(torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0]])).pooler_output
    torch.testing.assert_close(vectors, torch.load(name + ".pt", weights_only=True), atol=1e-6, rtol=0)
assert "hf_paraphrase" not in sys.modules
"""


def test_the_code_travels_with_the_weights_to_where_the_package_is_not(tmp_path, run_python):
    torch.manual_seed(0)
    size = {"vocab_size": 20, "hidden_size": 6, "initializer_range": 0.5}
    models = {"avg": AvgModel(AvgConfig(**size))}
    models |= {f"gran_{cell}": GranModel(GranConfig(cell=cell, **size)) for cell in ("lstm", "gru")}
    models["recurrent"] = RecurrentModel(RecurrentConfig(bidirectional=True, embedding_size=4, **size))
    models |= {
        f"sdae_{kept}": SdaeModel(SdaeConfig(has_decoder=kept, embedding_size=4, **size)) for kept in (True, False)
    }
    for name, model in models.items():
        model.eval().save_pretrained(tmp_path / name)
        ids = torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0]])
        torch.save(model(ids).pooler_output.detach(), tmp_path / f"{name}.pt")
    result = run_python(SCRIPT, *models, folder=tmp_path)
    assert result.returncode == 0, result.stderr
