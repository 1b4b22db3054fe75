"""The loss and its gradient on a CPU, backward pass written by hand: bfloat16 products, and kernels.c between them.

A CPU with bfloat16 instructions reads five times the tokens of plain PyTorch this way. model.py is the reference;
check_gradients.py compares the two.
"""
import ctypes
import os
import subprocess

import numpy
import torch

from model import frequencies

HALF = torch.bfloat16
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kernels.c')


def compile_kernels(folder):
    """Path of kernels.c, compiled for this machine."""
    path = os.path.join(folder, 'kernels.so')
    subprocess.run(['gcc', '-O3', '-march=native', '-mprefer-vector-width=512', '-ffast-math', '-shared', '-fPIC', SOURCE,
                    '-o', path + '.new', '-lm'], check=True)
    os.replace(path + '.new', path)
    return path


def arguments(values):
    """Tensors as pointers, None as a null pointer, the rest as C long or float."""
    for v in values:
        if v is None or torch.is_tensor(v):
            yield ctypes.c_void_p(v.data_ptr() if v is not None else None)
        else:
            yield ctypes.c_float(v) if isinstance(v, float) else ctypes.c_long(v)


class Kernels:
    """`kernels.name(...)` calls the C function of that name."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __getattr__(self, name):
        function = getattr(self.library, name)
        return lambda *values: function(*arguments(values))


def new(*shape, like=HALF):
    return torch.empty(*shape, dtype=like)


def first_of_segment(segments):
    """For each token the index in its row of its segment's first token, int32."""
    rows = segments.numpy()
    starts = numpy.zeros(rows.shape, numpy.int32)
    starts[:, 1:] = numpy.where(rows[:, 1:] != rows[:, :-1], numpy.arange(1, rows.shape[1]), 0)
    return torch.from_numpy(numpy.maximum.accumulate(starts, 1))


class CpuStep:
    """Views the flat parameters, their narrow copy and the flat gradient as a model's weights, in model.py's order."""

    def __init__(self, model, flat, small, gradient, kernels):
        self.config, self.kernels = model.config, kernels
        self.wide, self.small, self.gradient, at = {}, {}, {}, 0
        for name, p in model.named_parameters():
            for views, source in ((self.wide, flat), (self.small, small), (self.gradient, gradient)):
                views[name.replace('.weight', '')] = source[at:at + p.numel()].view_as(p)
            at += p.numel()
        angle = torch.arange(self.config.context).float()[:, None] * frequencies(self.config.head_width)
        self.tables = angle.cos().contiguous(), angle.sin().contiguous()

    def norm(self, x, added, name):
        """(residual stream with `added`, its norm in half width, 1 / rms)."""
        n, width = x.shape
        total, out, inverse = new(n, width, like=torch.float32), new(n, width), new(n, like=torch.float32)
        self.kernels.add_and_norm(x, added, self.wide[name], total, out, inverse, n, width)
        return total, out, inverse

    def norm_backward(self, d_out, kept, name, d_stream, d_half):
        total, _, inverse = kept
        self.gradient[name].zero_()
        self.kernels.norm_backward(d_out, total, self.wide[name], inverse, d_stream, d_half, self.gradient[name], *total.shape)

    def loss(self, batch):
        """(summed loss of the chosen tokens, how many, how many first choices); leaves the mean's gradient in `gradient`."""
        ids, positions, segments, chosen, targets = batch
        rows, length = ids.shape
        place = (positions.int().contiguous(), first_of_segment(segments))
        x, added, kept = self.wide['embedding'][ids.view(-1)], None, []
        for i in range(self.config.layers):
            x, added, k = self.block(f'blocks.{i}', x, added, place, rows, length)
            kept.append(k)
        last = self.norm(x, added, 'norm')
        d_out, figures = self.output(last[1], chosen, targets)
        d_stream, d_half = torch.zeros(rows * length, self.config.width), new(rows * length, self.config.width)
        self.norm_backward(d_out, last, 'norm', d_stream, d_half)
        for i in reversed(range(self.config.layers)):
            self.block_backward(f'blocks.{i}', kept[i], d_stream, d_half, place, rows, length)
        self.gradient['embedding'].index_add_(0, ids.view(-1), d_stream)
        return figures

    def output(self, hidden, chosen, targets):
        """Loss of the chosen tokens and the gradient of the final states; writes the output table's gradient."""
        table, count = self.small['embedding'], len(chosen)
        picked = hidden[chosen]
        logits = torch.mm(picked, table.t())
        loss, right = new(count, like=torch.float32), new(count, like=torch.int32)
        self.kernels.cross_entropy(logits, targets.int(), torch.full((count,), 1 / max(1, count)), loss, right, count, len(table))
        self.gradient['embedding'].copy_(torch.mm(logits.t(), picked))
        d_hidden = torch.zeros_like(hidden)
        d_hidden[chosen] = torch.mm(logits, table)
        return d_hidden, (loss.sum().item(), count, right.sum().item())

    def block(self, name, x, added, place, rows, length):
        """The residual stream, the pending addition to it, and the values that the backward pass needs."""
        heads, size, hidden = self.config.heads, self.config.head_width, self.config.hidden
        n, k = rows * length, {}
        k['attention_norm'] = self.norm(x, added, f'{name}.attention_norm')
        qkv = torch.mm(k['attention_norm'][1], self.small[f'{name}.qkv'].t())
        q, key, v = (new(rows * heads, length, size) for _ in range(3))
        self.kernels.split_and_rotate(qkv, place[0], *self.tables, q, key, v, rows, length, heads, size, size ** -0.5)
        weights = torch.bmm(q, key.transpose(1, 2))
        self.kernels.softmax(weights, place[1], rows, heads, length)
        mixed = torch.bmm(weights, v).view(rows, heads, length, size).transpose(1, 2).reshape(n, heads * size)
        attended = torch.mm(mixed, self.small[f'{name}.out'].t())
        k.update(q=q, key=key, v=v, weights=weights, mixed=mixed)
        k['hidden_norm'] = self.norm(k['attention_norm'][0], attended, f'{name}.hidden_norm')
        gate_up, active = torch.mm(k['hidden_norm'][1], self.small[f'{name}.gate_up'].t()), new(n, hidden)
        self.kernels.swiglu(gate_up, active, n, hidden)
        k.update(gate_up=gate_up, active=active)
        return k['hidden_norm'][0], torch.mm(active, self.small[f'{name}.down'].t()), k

    def block_backward(self, name, k, d_stream, d_half, place, rows, length):
        """Backpropagates the gradient of the stream through the block; writes the block's gradients."""
        heads, size, hidden = self.config.heads, self.config.head_width, self.config.hidden
        n, small, gradient = rows * length, self.small, self.gradient
        gradient[f'{name}.down'].copy_(torch.mm(d_half.t(), k['active']))
        d_gate_up = new(n, 2 * hidden)
        self.kernels.swiglu_backward(k['gate_up'], torch.mm(d_half, small[f'{name}.down']), d_gate_up, n, hidden)
        gradient[f'{name}.gate_up'].copy_(torch.mm(d_gate_up.t(), k['hidden_norm'][1]))
        d_out = torch.mm(d_gate_up, small[f'{name}.gate_up'])
        self.norm_backward(d_out, k['hidden_norm'], f'{name}.hidden_norm', d_stream, d_half)
        gradient[f'{name}.out'].copy_(torch.mm(d_half.t(), k['mixed']))
        d_mixed = torch.mm(d_half, small[f'{name}.out']).view(rows, length, heads, size).transpose(1, 2).reshape(-1, length, size)
        d_v = torch.bmm(k['weights'].transpose(1, 2), d_mixed)
        d_scores = torch.bmm(d_mixed, k['v'].transpose(1, 2))
        self.kernels.softmax_backward(k['weights'], d_scores, place[1], rows, heads, length)
        d_q, d_key, d_qkv = torch.bmm(d_scores, k['key']), torch.bmm(d_scores.transpose(1, 2), k['q']), new(n, 3 * heads * size)
        self.kernels.rotate_and_join(d_qkv, place[0], *self.tables, d_q, d_key, d_v, rows, length, heads, size, size ** -0.5)
        gradient[f'{name}.qkv'].copy_(torch.mm(d_qkv.t(), k['attention_norm'][1]))
        d_out = torch.mm(d_qkv, small[f'{name}.qkv'])
        self.norm_backward(d_out, k['attention_norm'], f'{name}.attention_norm', d_stream, d_half)
