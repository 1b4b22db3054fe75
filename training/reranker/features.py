"""What the reranker looks at: sixteen numbers for a query and a document, from the embedder's rows and vectors alone.

A document's score does not depend on the other documents of the request.
"""
import numpy as np

NAMES = ('cosine', 'lexical', 'soft lexical', 'best matches', 'covered', 'rarest matched', 'best window', 'pairs kept',
         'opening', 'log length', 'log query', 'best window cosine')
K1, B, TYPICAL_LENGTH = 1.2, 0.75, 130.0
WINDOW, STRIDE = 48, 24
OPENING = 24
SOFT_FROM = 0.45
MOST_ROWS = 1024      # of a document: what lies behind is not read


def unit_rows(table):
    return table / (np.linalg.norm(table, axis=1, keepdims=True) + 1e-9)


class Reader:
    """Turns queries and documents, given as lists of rows, into features."""

    def __init__(self, table, units, idf):
        """`table`: the embedder's vectors with the identity half; `units`: narrow unit vectors for late interaction."""
        self.table, self.units, self.idf = table, units, idf

    def embed(self, rows):
        rows, counts = np.unique(rows, return_counts=True)
        total = np.sqrt(counts) @ self.table[rows]
        return total / (np.linalg.norm(total) + 1e-9)

    def embed_all(self, matrix):
        """The same for a count matrix of many texts."""
        total = matrix @ self.table
        return total / (np.linalg.norm(total, axis=1, keepdims=True) + 1e-9)

    def features(self, query, documents):
        """float64 (documents, len(NAMES))."""
        query = np.asarray(query)
        order = query[np.sort(np.unique(query, return_index=True)[1])]
        weights = self.idf[order] / self.idf[order].sum()
        rare = np.argsort(-weights, kind='stable')[:3]
        documents = [np.asarray(d)[:MOST_ROWS] for d in documents]
        known, places = np.unique(np.concatenate(documents), return_inverse=True)
        similar = self.units[order] @ self.units[known].T
        exact = order[:, None] == known[None, :]
        similar[exact] = 1.0
        vector, found, start = self.embed(query), [], 0
        for document in documents:
            columns = places[start:start + len(document)]
            start += len(document)
            found.append(self.one(vector, (order, weights, rare), document, similar[:, columns], exact[:, columns]))
        return np.array(found)

    def one(self, vector, asked, document, similar, exact):
        order, weights, rare = asked
        length = len(document)
        soft = np.maximum(0, (similar - SOFT_FROM) / (1 - SOFT_FROM)) ** 2
        damping = K1 * (1 - B + B * length / TYPICAL_LENGTH)
        hits, soft_hits, best = exact.sum(1), soft.sum(1), similar.max(1)
        covered = exact.any(1)
        windows = [slice(at, at + WINDOW) for at in range(0, max(1, length - STRIDE), STRIDE)]
        return (
            vector @ self.embed(document),
            weights @ (hits * (K1 + 1) / (hits + damping)),
            weights @ (soft_hits * (K1 + 1) / (soft_hits + damping)),
            weights @ best,
            weights @ covered,
            best[rare].min(),
            max(weights @ soft[:, w].max(1) for w in windows),
            pairs_kept(weights, exact),
            weights @ soft[:, :OPENING].max(1),
            np.log1p(length),
            np.log1p(len(order)),
            max(vector @ self.embed(document[w]) for w in windows),
        )


def pairs_kept(weights, exact):
    """Share (by weight) of neighbouring query rows that stand side by side, in order, in the document."""
    if len(weights) < 2 or exact.shape[1] < 2:
        return 0.0
    kept = (exact[:-1, :-1] & exact[1:, 1:]).any(1)
    both = np.minimum(weights[:-1], weights[1:])
    return float(both @ kept / (both.sum() + 1e-9))
