"""A tiny chat model, and a local endpoint that answers as it is told."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = "<user>{% for message in messages %}{{ message['content'] }}{% endfor %}<model>"
SENTENCES = ["one cat", "two cats sleep", "three dogs run", "a dog sleeps"]


def save_chat_model(folder, *, template=TEMPLATE, pad=True, end=True):
    """Trains a model a little to repeat a sentence, so that it ends its answers; its samples differ."""
    words = sorted({word for text in SENTENCES for word in text.split()})
    special = ["<unk>", "<user>", "<model>", "</s>", "<pad>"]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate([*special, *words])}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"unk_token": "<unk>", **({"pad_token": "<pad>"} if pad else {}), **({"eos_token": "</s>"} if end else {})}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, additional_special_tokens=special[1:3], **names)
    fast.chat_template = template
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    ids = {"bos_token_id": None, "eos_token_id": 3 if end else None, "pad_token_id": 4 if pad else None}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(fast), max_position_embeddings=64, **sizes, **ids))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(60):
        text = SENTENCES[step % len(SENTENCES)]
        row = torch.tensor([fast(f"<user> {text} <model> {text} </s>")["input_ids"]])
        optimizer.zero_grad()
        model(input_ids=row, labels=row).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    fast.save_pretrained(folder)
    return str(folder)


@contextmanager
def endpoint(answer):
    """Serves `answer(request, headers)`: choices, a status with headers (and bytes), bytes, or seconds of silence."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            made = answer(request, self.headers)
            status, headers, body = 200, {}, made
            if isinstance(made, float):
                sleep(made)
                return
            if isinstance(made, tuple):
                status, headers, body = made if len(made) == 3 else (*made, b'{"error": "no"}')
            elif isinstance(made, list):
                body = json.dumps({"choices": [{"message": {"content": text}} for text in made]}).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
