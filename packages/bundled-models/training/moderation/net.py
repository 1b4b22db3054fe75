"""The network, in PyTorch: words and spelling to vectors, a convolution over five words, its maxima, one hidden layer."""
import torch
from torch import nn


class Net(nn.Module):
    """Logits of the five categories for rows of words. `filters` cover a word and `reach` words on both sides; the
    maximum of each over the window is the input of the hidden layer, with `topic` means over all words.
    """

    def __init__(self, table, buckets, filters=64, reach=2, hidden=32, topic=0):
        super().__init__()
        self.table = nn.Parameter(torch.tensor(table))
        self.buckets = nn.Parameter(torch.tensor(buckets))
        width = table.shape[1]
        self.filters = nn.Conv1d(width, filters, 2 * reach + 1, padding=reach)
        self.topic = nn.Linear(width, topic, bias=False) if topic else None
        self.hidden = nn.Linear(filters + topic, hidden)
        self.out = nn.Linear(hidden, 5)
        nn.init.constant_(self.out.bias, -3)

    def small(self):
        """Parameters that every step moves."""
        return [value for name, value in self.named_parameters() if name not in ('table', 'buckets')]

    def words(self, known, buckets, spelled, spelling, ends):
        """
        Vectors of the words of a batch: known (n, width) the rows of all its words; buckets (m, width) the rows of its buckets;
        spelled: which words are read by their spelling instead, as the mean of the buckets `spelling`, whose runs begin at `ends`.
        """
        if not len(spelled):
            return known
        return known.index_copy(0, spelled, torch.nn.functional.embedding_bag(spelling, buckets, ends, mode='mean'))

    def forward(self, vectors, mask):
        """vectors: (batch, words, width), zero where mask (batch, words) is false."""
        found = torch.relu(self.filters(vectors.transpose(1, 2))) * mask[:, None, :]
        pooled = found.max(2).values
        if self.topic is not None:
            mean = vectors.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
            pooled = torch.cat([pooled, self.topic(mean)], 1)
        return self.out(torch.relu(self.hidden(pooled)))
