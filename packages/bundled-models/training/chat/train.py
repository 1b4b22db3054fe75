"""Trains the chat model: AdamW on flat parameters that two workers share.

A worker is a process of one thread (at this size a thread pool waits too often) and takes its turn at the shared
parameters without waiting for the other's gradient: where others use the machine, a slow worker does not hold up the
fast one.
"""
import math
import os
import random
import time

import torch
from torch import multiprocessing

import batches
import tasks
from cpu_step import CpuStep, Kernels, compile_kernels
from curriculum import stage_at
from model import ChatModel

# Tokens of one worker's step, and the rows that they come in. An example goes to the shortest row that holds it.
TOKENS_PER_STEP = 4096
ROWS = (512, 1024, 2048, 4096)
PEAK_RATE, LAST_RATE, WARMUP_STEPS = 1.2e-3, 2e-5, 200
BETAS, DECAY, CLIP = (0.9, 0.98), 0.05, 1.0
CHECKPOINT_SECONDS = 300
LOG_SECONDS = 30


def learning_rate(step, done):
    """Warm-up by steps, then a cosine to the last rate over the run."""
    return min(1.0, (step + 1) / WARMUP_STEPS) * (LAST_RATE + (PEAK_RATE - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * done)))


class Feed:
    """Draws packed batches for one worker."""

    def __init__(self, corpora, tokenizer, seed):
        self.tasks, self.encoder = tasks.Tasks(corpora, seed), batches.Encoder(tokenizer)
        self.r, self.waiting = random.Random(seed), {length: [] for length in ROWS}

    def next(self, weights, context):
        """A batch of the first row length with enough waiting examples, so that no example is dropped for its
        length.
        """
        names, chances = zip(*weights.items())
        while True:
            for length in ROWS:
                if sum(len(e[0]) for e in self.waiting[length]) >= self.enough(length):
                    return self.batch(length, context)
            ids, loss = self.encoder.encode(self.tasks.draw(self.r.choices(names, chances)[0]))
            length = next((n for n in ROWS if len(ids) <= n), ROWS[-1])
            self.waiting[length].append((ids[:length], loss[:length]))

    @staticmethod
    def enough(length):
        """Tokens to wait for: slightly more than a batch of short rows, or as many as nearly fill long rows."""
        return TOKENS_PER_STEP * (1.15 if length == ROWS[0] else 0.75)

    def batch(self, length, context):
        """Long examples first, short ones in the remaining space."""
        rows = TOKENS_PER_STEP // length
        filled, self.waiting[length] = batches.pack(self.waiting[length], rows, length)
        if length > ROWS[0]:
            filled, self.waiting[ROWS[0]] = batches.pack(self.waiting[ROWS[0]], rows, length, filled)
        return batches.tensors(filled, length, context, seed=self.r.random())


def flatten(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def fill(model, flat):
    """Copies flat parameters into a model."""
    at = 0
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(flat[at:at + p.numel()].view_as(p))
            at += p.numel()


class Shared:
    """State shared by the workers: parameters, their half-precision copy, AdamW's moments, and progress."""

    def __init__(self, model):
        self.flat = flatten(model).share_memory_()
        self.small = self.flat.bfloat16().share_memory_()
        self.first, self.second = (torch.zeros_like(self.flat).share_memory_() for _ in range(2))
        self.clock = torch.zeros(3, dtype=torch.float64).share_memory_()  # step, seconds trained, tokens read
        self.recent = torch.zeros(3, dtype=torch.float64).share_memory_()  # loss, tokens, first choices since the last report
        self.lock = multiprocessing.get_context('spawn').Lock()

    def state(self):
        return {'flat': self.flat, 'first': self.first, 'second': self.second, 'clock': self.clock}

    def load(self, path):
        for name, value in torch.load(path, map_location='cpu').items():
            getattr(self, name).copy_(value)
        self.small.copy_(self.flat)


class Run:
    """A worker's own parameters, besides the shared state."""

    def __init__(self, corpora, tokenizer, out, minutes, seed, config):
        self.corpora, self.tokenizer, self.out, self.minutes, self.seed = corpora, tokenizer, out, minutes, seed
        self.config = config
        self.kernels = compile_kernels(out)


def work(rank, shared, run):
    """One worker's loop until the time is over. Worker 0 measures the time, logs and saves."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    model, kernels = ChatModel(run.config), Kernels(run.kernels)
    gradient = torch.zeros_like(shared.flat)
    step = CpuStep(model, shared.flat, shared.small, gradient, kernels)
    # A resumed run draws other conversations than the earlier run.
    feed = Feed(run.corpora, run.tokenizer, run.seed * 1000 + rank + int(shared.clock[0]) * 7)
    last = logged = saved = time.time()
    while shared.clock[1] < run.minutes * 60:
        done = shared.clock[1].item() / (run.minutes * 60)
        batch = feed.next(stage_at(done), run.config.context)
        if len(batch[3]) == 0:
            continue
        figures = step.loss(batch)
        with shared.lock:
            update(shared, gradient, kernels, done)
            shared.recent += torch.tensor(figures, dtype=torch.float64)
            shared.clock[2] += batch[0].numel()
            if rank == 0:
                now = time.time()
                shared.clock[1] += now - last
                last = now
                if now - logged > LOG_SECONDS:
                    logged = now
                    report(shared, run.out)
                if now - saved > CHECKPOINT_SECONDS:
                    saved = now
                    save(shared, run.out)
    if rank == 0:
        save(shared, run.out)


def update(shared, gradient, kernels, done):
    """One step of AdamW with the gradient clipped by its norm."""
    shared.clock[0] += 1
    step = int(shared.clock[0])
    scale = min(1.0, CLIP / (gradient.norm().item() + 1e-6))
    kernels.adamw(shared.flat, gradient, shared.first, shared.second, shared.small, len(gradient), learning_rate(step, done),
                  *BETAS, DECAY, 1 - BETAS[0] ** step, 1 - BETAS[1] ** step, scale)


def report(shared, out):
    step, seconds, tokens = shared.clock.tolist()
    loss, count, right = shared.recent.tolist()
    shared.recent.zero_()
    line = (f'{seconds / 60:.1f} min  step {step:.0f}  {tokens / 1e6:.2f}M tokens  {tokens / seconds:.0f}/s  '
            f'loss {loss / count:.3f}  first choice {right / count:.3f}')
    with open(os.path.join(out, 'train.log'), 'a', encoding='utf-8') as file:
        file.write(line + '\n')


def save(shared, out):
    """Replaces the checkpoint atomically, so that an interrupted save keeps the old one."""
    path = os.path.join(out, 'checkpoint.pt')
    torch.save(shared.state(), path + '.new')
    os.replace(path + '.new', path)


def train(model, corpora, tokenizer, out, minutes, workers=2, seed=1):
    """Trains `model` for `minutes` of wall time and stores `checkpoint.pt` in `out`; resumes from an existing one."""
    # Arguments travel to the workers pickled; the tokenizer's cache would only make that slow.
    tokenizer.cache = {}
    run = Run(corpora, tokenizer, out, minutes, seed, model.config)
    shared = Shared(model)
    path = os.path.join(out, 'checkpoint.pt')
    if os.path.exists(path):
        shared.load(path)
    # glibc otherwise returns every large tensor to the kernel and faults its pages in again.
    os.environ.update(MALLOC_MMAP_MAX_='0', MALLOC_TRIM_THRESHOLD_=str(2 ** 33), OPENBLAS_NUM_THREADS='1', OMP_NUM_THREADS='1')
    multiprocessing.spawn(work, (shared, run), nprocs=workers)


def load_model(out, config):
    """The trained model of a checkpoint, on the CPU, ready to evaluate or export."""
    model = ChatModel(config)
    fill(model, torch.load(os.path.join(out, 'checkpoint.pt'), map_location='cpu')['flat'])
    return model.eval()
