"""Checks cpu_step.py against PyTorch's own gradients of model.py. Fails where a weight's gradient is off by more than bfloat16 explains.

    python3 check_gradients.py --out OUT
"""
import argparse

import torch
from torch.nn import functional as F

import batches
from cpu_step import CpuStep, Kernels, compile_kernels
from make import config
from model import ChatModel, causal_mask

TOLERANCE = 0.02


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', required=True, help='scratch folder')
    model = ChatModel(config(), seed=3)
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    gradient = torch.zeros_like(flat)
    step = CpuStep(model, flat, flat.bfloat16(), gradient, Kernels(compile_kernels(parser.parse_args().out)))
    drawn = torch.Generator().manual_seed(4)
    word = lambda n: torch.randint(300, 4096, (n,), generator=drawn).tolist()
    rows = []
    for _ in range(3):
        repeated = [word(40), word(70)]
        rows.append([(part + part, [0] * len(part) + [1] * len(part)) for part in repeated])
    batch = batches.tensors(rows, 256, model.config.context, seed=5)
    with torch.no_grad():
        total, count, right = step.loss(batch)
    ids, positions, segments, chosen, targets = batch
    logits = model.logits(model.hidden(ids, positions, causal_mask(segments)).flatten(0, 1)[chosen])
    wanted = F.cross_entropy(logits, targets)
    wanted.backward()
    print(f'loss {total / count:.5f}, PyTorch {wanted.item():.5f}; {right} of {count} right, PyTorch {(logits.argmax(-1) == targets).sum()}')
    at, worst = 0, 0.0
    for name, p in model.named_parameters():
        ours, theirs = gradient[at:at + p.numel()], p.grad.flatten()
        gap = ((ours - theirs).norm() / theirs.norm()).item()
        at, worst = at + p.numel(), max(worst, gap)
        print(f'{name:32} relative difference {gap:.4f}')
    raise SystemExit(0 if worst < TOLERANCE else 1)


if __name__ == '__main__':
    main()
