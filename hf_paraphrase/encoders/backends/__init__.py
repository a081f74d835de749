"""What computes embeddings: a static table, a PyTorch module, an ONNX graph or a sentence-transformers pipeline.

`opening` chooses the backend of a folder. Every backend has the methods of `base.Backend`: texts go in, float32
arrays (texts, dimension) come out.
"""
