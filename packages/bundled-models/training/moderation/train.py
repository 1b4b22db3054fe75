"""The loop: batches of like length, masked cross-entropy, Adam, an average of the weights."""
import time

import numpy as np
import torch

from examples import OPEN, WORDS

LONGEST = 160
# Sampling weights of the sets in an epoch; default 1.
SHARE = {'davidson': 0.6, 'medquad': 0.4, 'banking77': 0.15, 'clinc': 0.2, 'sgd': 0.2, 'squad': 0.25, 'tldr': 0.2, 'wordnet': 0.5, 'wikisplit': 0.4, 'dolly': 0.6,
         'topicalchat': 0.5, 't0': 0.6, 'oss_docs': 0.4, 'gsm8k': 0.2, 'wikipedia_identity': 0.7, 'bias_templates': 0.7, 'ailuminate': 4, 'simple_safety': 4,
         'harmful_requests': 3, 'stormfront': 1.5, 'surge': 2, 'wikipedia_talk': 2, 'hh': 2, 'made_up': 0.7}
# Rows of words and buckets get few updates each, so their step size is larger.
ROW_RATE = 2


class Corpus:
    """Encoded examples. `rows(numbers)` gives padded ids and labels."""

    def __init__(self, found, encoded):
        self.ids, self.starts = encoded['ids'], np.concatenate([[0], encoded['ends']])
        self.buckets, self.spelling = encoded['buckets'], np.concatenate([[0], encoded['spelling']])
        self.labels, self.names, self.part = found['labels'], np.array(found['name']), found['part']
        self.lengths = np.minimum(np.diff(self.starts), LONGEST)

    def batch(self, numbers, chance=None, drop=0.0):
        """Dependencies of `run`. Unknown words are represented by their spelling, known ones with probability
        `drop`.
        """
        lengths = self.lengths[numbers]
        rows = np.zeros((len(numbers), max(1, lengths.max())), np.int64)
        for i, number in enumerate(numbers):
            start = self.starts[number]
            spare = self.starts[number + 1] - start - lengths[i]
            if spare and chance is not None:
                start += chance.integers(spare + 1)
            rows[i, :lengths[i]] = self.ids[start:start + lengths[i]]
        unique, inverse = np.unique(rows, return_inverse=True)
        counts = self.spelling[unique + 1] - self.spelling[unique]
        spelled = unique >= WORDS
        if drop:
            spelled |= (chance.random(len(unique)) < drop)
        spelled = np.flatnonzero(spelled & (counts > 0))
        lists = [self.buckets[self.spelling[u]:self.spelling[u + 1]] for u in unique[spelled]]
        ends = np.cumsum([0] + [len(own) for own in lists])[:-1].astype(np.int64)
        buckets, spelling = np.unique(np.concatenate(lists).astype(np.int64) if lists else np.zeros(0, np.int64), return_inverse=True)
        return {'known': np.where(unique < WORDS, unique, 7), 'spelled': spelled, 'buckets': buckets, 'spelling': spelling.astype(np.int64),
                'ends': ends, 'rows': inverse.reshape(rows.shape), 'mask': rows > 0}


def run(net, batch, known, buckets):
    """Logits of a batch, given the rows of its words and buckets."""
    words = net.words(known, buckets, *(torch.from_numpy(batch[name]) for name in ('spelled', 'spelling', 'ends')))
    mask = torch.from_numpy(batch['mask'])
    vectors = torch.nn.functional.embedding(torch.from_numpy(batch['rows']), words) * mask[:, :, None]
    return net(vectors, mask.float())


class Rows:
    """A table of which a step updates few rows: row-wise Adam, and a slow average of the rows."""

    def __init__(self, table, pull=0.0):
        self.now, self.first, self.pull = table, table.copy(), pull
        self.mean, self.square, self.times = np.zeros_like(table), np.zeros_like(table), np.zeros(len(table), np.int64)
        self.average = None

    def take(self, numbers):
        return torch.from_numpy(self.now[numbers]).requires_grad_()

    def move(self, numbers, taken, rate):
        if taken.grad is None or not len(numbers):
            return
        slope = taken.grad.numpy() + self.pull * (self.now[numbers] - self.first[numbers])
        self.times[numbers] += 1
        times = self.times[numbers][:, None]
        mean = self.mean[numbers] * 0.9 + 0.1 * slope
        square = self.square[numbers] * 0.99 + 0.01 * slope * slope
        self.mean[numbers], self.square[numbers] = mean, square
        self.now[numbers] -= rate * (mean / (1 - 0.9 ** times)) / (np.sqrt(square / (1 - 0.99 ** times)) + 1e-6)

    def blend(self, share):
        if self.average is None:
            self.average = self.now.copy()
        self.average += share * (self.now - self.average)


def order(corpus, chance, size):
    """Batches of one epoch: examples drawn by SHARE, sorted by length in pools, batches shuffled."""
    wanted = np.array([SHARE.get(name, 1) for name in corpus.names])
    times = np.floor(wanted + chance.random(len(wanted))).astype(int) * (corpus.part == 0)
    times *= (corpus.lengths > 0)
    numbers = np.repeat(np.arange(len(times)), times)
    chance.shuffle(numbers)
    lengths = corpus.lengths
    batches = []
    for at in range(0, len(numbers), size * 64):
        pool = numbers[at:at + size * 64]
        pool = pool[np.argsort(lengths[pool], kind='stable')]
        batches += [pool[i:i + size] for i in range(0, len(pool), size)]
    chance.shuffle(batches)
    return batches


def train(net, corpus, seed, epochs, size=128, rate=3e-3, drop=0.1, log=print):
    """Trains `net` in place and leaves it with the average of the weights of the last half."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    chance = np.random.default_rng(seed)
    table, buckets = Rows(net.table.detach().numpy(), pull=2e-5), Rows(net.buckets.detach().numpy())
    small = net.small()
    optimizer = torch.optim.Adam(small, lr=rate, betas=(0.9, 0.99))
    averages, step, started, total = None, 0, time.time(), None
    for epoch in range(epochs):
        batches = order(corpus, chance, size)
        total = total or len(batches) * epochs
        losses = []
        for numbers in batches:
            batch = corpus.batch(numbers, chance, drop)
            words, own = table.take(batch['known']), buckets.take(batch['buckets'])
            labels = torch.from_numpy(corpus.labels[numbers])
            logits = run(net, batch, words, own)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.clamp(min=0), reduction='none')
            loss = (loss * (labels != OPEN)).sum() / len(numbers)
            optimizer.zero_grad()
            loss.backward()
            now = rate * min(1, step / 200) * max(0.02, 1 - step / total)
            optimizer.param_groups[0]['lr'] = now
            optimizer.step()
            table.move(batch['known'], words, ROW_RATE * now)
            buckets.move(batch['buckets'], own, ROW_RATE * now)
            step += 1
            losses.append(loss.item())
            if step >= total // 2 and step % 20 == 0:
                share = 0.1
                table.blend(share)
                buckets.blend(share)
                averages = averages or [value.detach().clone() for value in small]
                for mine, new in zip(averages, small):
                    mine += share * (new.detach() - mine)
        log(f'epoch {epoch} loss {np.mean(losses):.4f} {time.time() - started:.0f} s, {time.process_time():.0f} s of CPU')
    with torch.no_grad():
        for value, mean in zip([net.table, net.buckets, *small], [torch.from_numpy(table.average), torch.from_numpy(buckets.average), *averages]):
            value.copy_(mean)
    return net


def logits_of(net, corpus, numbers=None, size=256):
    """(n, 5) logits of examples in their order."""
    numbers = np.arange(len(corpus.starts) - 1) if numbers is None else numbers
    result = np.zeros((len(numbers), 5), np.float32)
    places = np.argsort(corpus.lengths[numbers], kind='stable')
    with torch.no_grad():
        for at in range(0, len(places), size):
            own = places[at:at + size]
            batch = corpus.batch(numbers[own])
            result[own] = run(net, batch, net.table[torch.from_numpy(batch['known'])], net.buckets[torch.from_numpy(batch['buckets'])]).numpy()
    return result
