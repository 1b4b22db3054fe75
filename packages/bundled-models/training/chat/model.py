"""A small llama-architecture decoder in plain PyTorch."""
import math

import torch
from torch import nn
from torch.nn import functional as F

# 4,096 tokens of context: at this base the slow half of the rotary pairs turns less than once over all of it, which
# is what the copying heads compare tokens in.
ROPE_BASE = 4e6
NORM_EPSILON = 1e-5
EMBEDDING_SCALE = 0.1


class Config:
    """Sizes. Matrix sides are multiples of 32, the block of Q8_0."""

    def __init__(self, vocabulary=4096, width=256, layers=4, heads=4, hidden=512, context=4096):
        self.vocabulary, self.width, self.layers = vocabulary, width, layers
        self.heads, self.hidden, self.context = heads, hidden, context

    @property
    def head_width(self):
        return self.width // self.heads


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * self.weight


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.attention_norm, self.hidden_norm = RMSNorm(config.width), RMSNorm(config.width)
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        self.gate_up = nn.Linear(config.width, 2 * config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x, rotation, mask):
        rows, length, width = x.shape
        heads, size = self.config.heads, self.config.head_width
        qkv = self.qkv(self.attention_norm(x)).view(rows, length, 3 * heads, size)
        q, k = rotate(qkv[:, :, :2 * heads], rotation).transpose(1, 2).split(heads, 1)
        v = qkv[:, :, 2 * heads:].transpose(1, 2)
        scores = torch.matmul(q * size ** -0.5, k.transpose(2, 3)) + mask
        mixed = torch.matmul(scores.softmax(-1), v).transpose(1, 2).reshape(rows, length, width)
        x = x + self.out(mixed)
        gate, up = self.gate_up(self.hidden_norm(x)).split(self.config.hidden, -1)
        return x + self.down(F.silu(gate) * up)


class ChatModel(nn.Module):
    """Token ids and positions in, logits out. Input and output share one embedding table."""

    def __init__(self, config, seed=0):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.norm = RMSNorm(config.width)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if weight.dim() < 2:
                    continue
                scale = EMBEDDING_SCALE if 'embedding' in name else weight.shape[1] ** -0.5
                # Blocks start with small outputs, so that they do not dominate the embeddings.
                if name.endswith(('out.weight', 'down.weight')):
                    scale *= 0.1 / math.sqrt(2 * config.layers)
                weight.normal_(0, scale, generator=generator)

    def hidden(self, ids, positions, mask):
        """Final normalised states, (rows, length, width). `mask` is added to the attention scores."""
        x, rotation = self.embedding(ids), rotation_at(positions, self.config.head_width)
        for block in self.blocks:
            x = block(x, rotation, mask)
        return self.norm(x)

    def logits(self, hidden):
        return F.linear(hidden, self.embedding.weight)


def frequencies(size):
    return ROPE_BASE ** (-torch.arange(0, size, 2).float() / size)


def rotation_at(positions, size):
    """Unit complex numbers for llama.cpp's "norm" RoPE, (rows, length, 1, size / 2): pairs are (0, 1), (2, 3), ..."""
    angle = (positions[..., None].float() * frequencies(size).to(positions.device))[:, :, None]
    return torch.polar(torch.ones_like(angle), angle)


def rotate(x, rotation):
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * rotation).flatten(-2).type_as(x)


def causal_mask(segments):
    """Additive mask for packed rows: a token sees earlier tokens of its own segment. (rows, 1, length, length)"""
    length = segments.shape[1]
    same = segments[:, None, :, None] == segments[:, None, None, :]
    seen = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
    return torch.zeros(same.shape, device=segments.device).masked_fill(~(same & seen), -1e9)
