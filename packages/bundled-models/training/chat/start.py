"""Starts a run from a shipped file: its dequantised weights, its tokenizer, and new layers without effect at
first.
"""
import sys

import torch

from export import tensors
from model import ChatModel, Config
from tokenizer import Tokenizer


def read(path, gguf_py):
    if gguf_py not in sys.path:
        sys.path.insert(0, gguf_py)
    import gguf
    return gguf, gguf.GGUFReader(path)


def read_tokenizer(path, gguf_py):
    field = read(path, gguf_py)[1].fields['tokenizer.ggml.tokens']
    return Tokenizer([bytes(field.parts[i]).decode() for i in field.data])


def read_model(path, gguf_py):
    """The file's model in 32-bit floats."""
    gguf, file = read(path, gguf_py)
    number = lambda key: int(file.fields[key].parts[file.fields[key].data[0]][0])
    config = Config(number('llama.vocab_size'), number('llama.embedding_length'), number('llama.block_count'),
                    number('llama.attention.head_count'), number('llama.feed_forward_length'), number('llama.context_length'))
    found = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy()) for t in file.tensors}
    model = ChatModel(config)
    with torch.no_grad():
        for name, weight in tensors(model):
            weight.copy_(found[name].view_as(weight))
    return model


def grow(model, layers, hidden, after):
    """`model` with copies of the layers in `after` behind them, and wider hidden layers. The output is unchanged:
    new units are not added to the residual stream yet.
    """
    old = model.config
    order = [i for i in range(old.layers) for _ in range(1 + after.count(i))]
    assert len(order) == layers
    grown = ChatModel(Config(old.vocabulary, old.width, layers, old.heads, hidden, old.context), seed=2)
    with torch.no_grad():
        grown.embedding.weight.copy_(model.embedding.weight)
        grown.norm.weight.copy_(model.norm.weight)
        for at, i in enumerate(order):
            block, source, copy = grown.blocks[at], model.blocks[i], at > 0 and order[at - 1] == i
            for name in ('attention_norm', 'hidden_norm', 'qkv'):
                getattr(block, name).weight.copy_(getattr(source, name).weight)
            for new, known in zip(block.gate_up.weight.split(hidden), source.gate_up.weight.split(old.hidden)):
                new[:old.hidden] = known
            block.out.weight.zero_()
            block.down.weight.zero_()
            if not copy:
                block.out.weight.copy_(source.out.weight)
                block.down.weight[:, :old.hidden] = source.down.weight
    return grown
