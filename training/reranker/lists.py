"""Training lists: a query, its right document, and the wrong ones that a first search would have brought."""
import numpy as np
from scipy import sparse

from model import count_matrix

# How many queries of each source: those most like questions to documents count most.
QUERIES = {'squad': 900, 'reading': 380, 'medquad': 500, 'oss_docs': 900, 'opensearch_docs': 500, 'tldr': 300, 'python': 400,
           'answers': 300, 'neighbours': 900, 'wordnet_examples': 200}
POOL, WRONG = 3000, 14
K1, B = 1.2, 0.75


def bm25(documents, queries):
    """BM25 of all queries and documents, both given as count matrices of rows."""
    counts = documents.copy()
    counts.data = counts.data ** 2          # the damping of count_matrix undone
    lengths = np.asarray(counts.sum(1)).ravel()
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    idf = inverse_frequency(np.asarray((documents > 0).sum(0)).ravel(), documents.shape[0])
    row_of = np.repeat(np.arange(documents.shape[0]), np.diff(counts.indptr))
    gains = idf[counts.indices] * counts.data * (K1 + 1) / (counts.data + norms[row_of])
    matrix = sparse.csr_matrix((gains, counts.indices, counts.indptr), shape=counts.shape)
    return ((queries > 0).astype(np.float64) @ matrix.T).toarray()


def inverse_frequency(holding, size):
    return np.log(1 + (size - holding + 0.5) / (holding + 0.5))


def draw(pairs, name, reader, rows, seed):
    """[(query, [right, wrong, wrong, ...])] of one source, each a list of rows, from pairs that the embedder never saw."""
    left, which, right = pairs.texts
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(pairs.held_back())[:QUERIES[name]]
    wanted = which[chosen]
    others = np.setdiff1d(generator.permutation(len(right))[:POOL], wanted)
    pool = np.concatenate([np.unique(wanted), others])
    documents = [right[i][:300] for i in pool]
    place = {doc: i for i, doc in enumerate(pool)}
    queries = [left[i] for i in chosen]
    matrix, asked = count_matrix(documents, rows), count_matrix(queries, rows)
    lexical = bm25(matrix, asked)
    vectors, question = reader.embed_all(matrix), reader.embed_all(asked)
    mixed = 0.2 * (question @ vectors.T) + 0.8 * lexical / (lexical + 30)
    lists = []
    for row, query in enumerate(queries):
        ranked = [d for d in np.argsort(-mixed[row], kind='stable')[:WRONG + 1] if d != place[wanted[row]]][:WRONG]
        lists.append((query, [documents[place[wanted[row]]]] + [documents[d] for d in ranked]))
    return lists
