"""Count family_configs.py with the classes of transformers and write family_counts.json beside it.

Needs transformers and torch, which the project does not: `pip install transformers==5.24.0 torch==2.13.0` in another
environment, then run this file there. Models are built on the meta device, so no weights exist.
"""

import json
import re
import sys
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k")
LAYER = re.compile(r"(.*?\.(?:layers|h|blocks|block)\.)(\d+)\.(.*)")


def count(values):
    """Count one config: total, active, per layer (run lengths), tied."""
    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    config = CONFIG_MAPPING[values["model_type"]].from_dict(dict(values))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    per_token = next((getattr(config, key) for key in PER_TOKEN if getattr(config, key, None)), None)
    if values["model_type"] == "dbrx":
        per_token = config.ffn_config.moe_top_k
    whole, active, outside = {}, {}, 0
    for name, parameter in model.named_parameters():
        match = LAYER.match(name)
        if match is None:
            outside += parameter.numel()
            continue
        index, routed = int(match[2]), re.search(r"(^|\.)experts\.", match[3]) and "shared" not in match[3]
        number = parameter.shape[0] if values["model_type"] != "dbrx" else config.ffn_config.moe_num_experts
        share = parameter.numel() * per_token // number if routed else parameter.numel()
        whole[index] = whole.get(index, 0) + parameter.numel()
        active[index] = active.get(index, 0) + share
    layers = [(whole[index], active[index]) for index in sorted(whole)]
    return {
        "total": outside + sum(whole.values()),
        "active": outside + sum(active.values()),
        "layers": [[len(list(group)), *size] for size, group in groupby(layers)],
        "tied": bool(config.tie_word_embeddings),
    }


def main():
    """Write the counts of all configs, in their order."""
    sys.path.insert(0, str(HERE))
    from family_configs import CONFIGS

    rows = [json.dumps({"config": config, **count(config)}, sort_keys=True) for config in CONFIGS]
    (HERE / "family_counts.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
