"""Trains the chat model: AdamW on the flat parameters, data-parallel over processes on a CPU, one process on a GPU.

On two cores two processes of one thread each read 3,600 tokens/s where one process of two threads reads 2,900: at this
size a thread pool waits too often. They share parameters and gradients in memory and meet at three barriers a step.
"""
import contextlib
import math
import os
import random
import time

import torch
from torch import multiprocessing
from torch.nn import functional as F

import batches
import tasks
from model import ChatModel, Config, causal_mask, write_copying_heads

# The last tenth refines at a small rate: longer rows, more copying, and an honest answer to what it cannot write.
REFINE = 0.898
USUAL_ROWS = [(256, 0.46), (512, 0.46), (1024, 0.06), (2048, 0.02)]
LONGER_ROWS = [(256, 0.44), (512, 0.43), (1024, 0.10), (2048, 0.03)]
# (until this share of the run, task weights, tokens in a row and how often). Copying first: every later task stands
# on it. Long rows are dear, so most long-distance training comes from positions with gaps.
CURRICULUM = [
    (0.054, {'drill': 2, 'marked_text': 2, 'marked': 4, 'text': 0.3}, USUAL_ROWS),
    (0.427, {'drill': 0.7, 'marked_text': 0.7, 'marked': 3, 'unmarked': 0.9, 'plain_context': 2.6, 'conversation': 3.2,
             'instructed': 2.4, 'told': 0.9, 'text': 0.25, 'json': 1.6, 'made_up_tool': 3.2, 'tool_silence': 1.2,
             'tool_dialogue': 1.0}, USUAL_ROWS),
    (REFINE, {'drill': 0.4, 'marked_text': 0.5, 'marked': 1.8, 'unmarked': 0.7, 'plain_context': 2.2, 'conversation': 4.2,
              'instructed': 2.4, 'told': 1.2, 'text': 0.3, 'json': 1.8, 'made_up_tool': 3.2, 'tool_silence': 1.4,
              'tool_dialogue': 0.9}, USUAL_ROWS),
    (1.0, {'drill': 1.5, 'marked_text': 1, 'marked': 3, 'unmarked': 0.6, 'plain_context': 1.8, 'conversation': 3,
           'instructed': 2, 'beyond': 1.5, 'json': 1.8, 'made_up_tool': 2.5, 'tool_silence': 1.2, 'tool_dialogue': 0.6},
     LONGER_ROWS),
]
TOKENS_PER_STEP = 3072
PEAK_RATE, REFINE_RATE, LAST_RATE, WARMUP_STEPS = 1.5e-3, 4e-4, 2e-5, 100
BETAS, DECAY, CLIP = (0.9, 0.98), 0.05, 1.0
CHECKPOINT_SECONDS = 240
LOG_SECONDS = 30
# Conversations waiting for a row long enough; the oldest are dropped beyond this.
WAITING = 60


def learning_rate(step, done):
    """Warm-up by steps, a cosine to the last rate until REFINE, then a straight line from the refining rate."""
    if done < REFINE:
        rate = LAST_RATE + (PEAK_RATE - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * done / REFINE))
    else:
        rate = LAST_RATE + (REFINE_RATE - LAST_RATE) * max(0.0, (1 - done) / (1 - REFINE))
    return min(1.0, (step + 1) / WARMUP_STEPS) * rate


class Feed:
    """Draws packed batches for one worker. Row length and stage are given, so that workers agree on them."""

    def __init__(self, corpora, tokenizer, seed, share):
        self.tasks, self.encoder = tasks.Tasks(corpora, seed), batches.Encoder(tokenizer)
        self.r, self.share, self.waiting = random.Random(seed), share, []

    def next(self, length, weights, context):
        rows = max(1, TOKENS_PER_STEP // self.share // length)
        names, chances = zip(*weights.items())
        if length > 512:
            filled = [[self.long(length)] for _ in range(rows)]
        else:
            while sum(len(e[0]) for e in self.waiting if len(e[0]) <= length) < 1.2 * rows * length:
                ids, loss = self.encoder.encode(self.tasks.draw(self.r.choices(names, chances)[0]))
                self.waiting.append((ids[:512], loss[:512]))
            short = [e for e in self.waiting if len(e[0]) <= length]
            long = [e for e in self.waiting if len(e[0]) > length]
            filled, left = batches.pack(short, rows, length)
            self.waiting = (long + left)[-WAITING:]
        return batches.tensors(filled, length, context, seed=self.r.random())

    def long(self, length):
        """One example that nearly fills a long row; documents' answer stands last, so those have to fit."""
        if self.r.random() < 0.3:
            ids, loss = self.encoder.encode(self.tasks.draw('tool_dialogue'))
            return ids[:length], loss[:length]
        while True:
            ids, loss = self.encoder.encode(self.tasks.long_documents(length * self.r.uniform(0.4, 0.75)))
            if len(ids) <= length:
                return ids, loss


def batch_loss(model, batch, device):
    """(summed cross-entropy of the chosen tokens, how many, how many were the model's first choice)."""
    ids, positions, segments, chosen, targets = (t.to(device) for t in batch)
    guard = torch.autocast('cuda', torch.bfloat16) if device == 'cuda' else contextlib.nullcontext()
    with guard:
        hidden = model.hidden(ids, positions, causal_mask(segments)).flatten(0, 1)[chosen]
        logits = model.logits(hidden)
    loss = F.cross_entropy(logits.float(), targets, reduction='sum')
    return loss, len(targets), (logits.argmax(-1) == targets).sum().item()


def flatten(model):
    """Moves all parameters into one tensor in shared memory, of which they become views."""
    flat = torch.cat([p.detach().flatten() for p in model.parameters()]).share_memory_()
    bind(model, flat)
    return flat


def bind(model, flat):
    at = 0
    for p in model.parameters():
        p.data = flat[at:at + p.numel()].view_as(p)
        at += p.numel()


class Shared:
    """What the workers share: parameters, AdamW's moments, each one's gradients and counts, and how far they are."""

    def __init__(self, model, workers):
        self.flat = flatten(model)
        size = self.flat.numel()
        self.first, self.second = torch.zeros(size).share_memory_(), torch.zeros(size).share_memory_()
        self.gradients = torch.zeros(workers, size).share_memory_()
        self.counts = torch.zeros(workers, 3, dtype=torch.float64).share_memory_()  # loss, tokens, first choices
        self.clock = torch.zeros(3, dtype=torch.float64).share_memory_()  # step, seconds trained, tokens read
        self.barrier = multiprocessing.get_context('spawn').Barrier(workers)
        self.workers = workers

    def state(self):
        return {'flat': self.flat, 'first': self.first, 'second': self.second, 'clock': self.clock}

    def load(self, path):
        for name, value in torch.load(path, map_location='cpu').items():
            getattr(self, name).copy_(value)


def update(shared, part, rate, step):
    """AdamW on this worker's slice of the parameters, with the gradient of all workers, clipped by its norm."""
    tokens = max(1.0, shared.counts[:, 1].sum().item())  # a row may be all prompt
    total = shared.gradients[:, part].sum(0)
    norms = shared.gradients.sum(0).norm().item() / tokens if shared.workers > 1 else total.norm().item() / tokens
    total *= min(1.0, CLIP / (norms + 1e-6)) / tokens
    first, second, flat = shared.first[part], shared.second[part], shared.flat[part]
    first.mul_(BETAS[0]).add_(total, alpha=1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(total, total, value=1 - BETAS[1])
    scale = (second / (1 - BETAS[1] ** step)).sqrt_().add_(1e-8)
    flat.mul_(1 - rate * DECAY).addcdiv_(first, scale, value=-rate / (1 - BETAS[0] ** step))


class Run:
    """What a worker has to know, besides what it shares."""

    def __init__(self, corpora, tokenizer, out, minutes, seed):
        self.corpora, self.tokenizer, self.out, self.minutes, self.seed = corpora, tokenizer, out, minutes, seed
        self.device = 'cuda' if torch.cuda.is_available() else 'cpu'
        self.config = Config(vocabulary=len(tokenizer.pieces))


def work(rank, shared, run):
    """One worker's loop until the minutes are over. Worker 0 logs and saves."""
    torch.set_num_threads(1 if shared.workers > 1 else torch.get_num_threads())
    model = ChatModel(run.config).to(run.device)
    if run.device == 'cpu':
        bind(model, shared.flat)
    # A continued run draws other conversations than the ones it has seen.
    feed = Feed(run.corpora, run.tokenizer, run.seed * 1000 + rank + int(shared.clock[0]) * 7, shared.workers)
    size = -(-shared.flat.numel() // shared.workers)
    part = slice(rank * size, (rank + 1) * size)
    last = logged = saved = time.time()
    recent = torch.zeros(3, dtype=torch.float64)
    while shared.clock[1] < run.minutes * 60:
        step, done = int(shared.clock[0]), shared.clock[1].item() / (run.minutes * 60)
        _, weights, rows = next(stage for stage in CURRICULUM if done < stage[0])
        length = random.Random(run.seed * 100003 + step).choices(*zip(*rows))[0]
        if run.device != 'cpu':
            fill(model, shared.flat)
        batch = feed.next(length, weights, run.config.context)
        loss, tokens, right = batch_loss(model, batch, run.device)
        loss.backward()
        shared.gradients[rank].copy_(torch.cat([p.grad.flatten() for p in model.parameters()]))
        model.zero_grad()
        shared.counts[rank] = torch.tensor([loss.item(), tokens, right], dtype=torch.float64)
        shared.barrier.wait()
        recent += shared.counts.sum(0)
        update(shared, part, learning_rate(step, done), step + 1)
        shared.barrier.wait()
        if rank == 0:
            now = time.time()
            shared.clock += torch.tensor([1, now - last, batch[0].numel() * shared.workers])
            last = now
            if now - logged > LOG_SECONDS:
                report(shared.clock, recent, run.out)
                logged, recent = now, torch.zeros(3, dtype=torch.float64)
            if now - saved > CHECKPOINT_SECONDS:
                save(shared, run.out)
                saved = now
        shared.barrier.wait()
    if rank == 0:
        save(shared, run.out)


def fill(model, flat):
    """Copies the flat parameters into a model on another device."""
    at = 0
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(flat[at:at + p.numel()].view_as(p))
            at += p.numel()


def report(clock, recent, out):
    step, seconds, tokens = clock.tolist()
    line = (f'{seconds / 60:.1f} min  step {step:.0f}  {tokens / 1e6:.2f}M tokens  {tokens / seconds:.0f}/s  '
            f'loss {recent[0] / recent[1]:.3f}  first choice {recent[2] / recent[1]:.3f}')
    with open(os.path.join(out, 'train.log'), 'a', encoding='utf-8') as file:
        file.write(line + '\n')


def save(shared, out):
    """Replaces the checkpoint in one move, so that an interrupted save leaves the old one."""
    path = os.path.join(out, 'checkpoint.pt')
    torch.save(shared.state(), path + '.new')
    os.replace(path + '.new', path)


def train(corpora, tokenizer, out, minutes, workers=2, seed=1):
    """Trains for `minutes` of wall clock and leaves `checkpoint.pt` in `out`; continues one that is there."""
    # Arguments travel to the workers pickled; the tokenizer's cache would only make that slow.
    tokenizer.cache = {}
    run = Run(corpora, tokenizer, out, minutes, seed)
    workers = workers if run.device == 'cpu' else 1
    model = ChatModel(run.config, seed)
    write_copying_heads(model, seed)
    shared = Shared(model, workers)
    path = os.path.join(out, 'checkpoint.pt')
    if os.path.exists(path):
        shared.load(path)
    # glibc otherwise returns every large tensor to the kernel and faults its pages in again.
    os.environ.update(MALLOC_MMAP_MAX_='0', MALLOC_TRIM_THRESHOLD_=str(2 ** 33))
    if workers > 1:  # a worker is one thread; OpenBLAS does not listen to torch.set_num_threads
        os.environ.update(OPENBLAS_NUM_THREADS='1', OMP_NUM_THREADS='1')
    multiprocessing.spawn(work, (shared, run), nprocs=workers)


def load_model(out, tokenizer):
    """The trained model of a checkpoint, on the CPU, ready to evaluate or export."""
    model = ChatModel(Config(vocabulary=len(tokenizer.pieces)))
    fill(model, torch.load(os.path.join(out, 'checkpoint.pt'), map_location='cpu')['flat'])
    return model.eval()
