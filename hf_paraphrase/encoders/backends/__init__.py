"""Backends, which compute embeddings: static tables, PyTorch modules, ONNX graphs and sentence-transformers pipelines.

`opening` chooses the backend of a folder. Every backend has the methods of `base.Backend`: texts go in, float32
arrays (texts, dimension) come out.
"""
