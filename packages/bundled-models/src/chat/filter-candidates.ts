/** A text that may answer a question, with its terms. */
export interface TermCandidate {
  text: string;
  terms: ReadonlySet<string>;
}

/** Default maximum of candidates that are reranked. */
const MAX_CANDIDATES = 64;

/** The candidates with the highest sum of IDF over terms in common with the question, distinct by text, best first. */
export function filterCandidates<Candidate extends TermCandidate>(
  candidates: readonly Candidate[],
  terms: readonly string[],
  maxCandidates = MAX_CANDIDATES,
): Candidate[] {
  const distinct = [
    ...new Map(candidates.toReversed().map((candidate) => [candidate.text, candidate])).values(),
  ].reverse();
  const idf = terms.map((term) => {
    const frequency = distinct.filter((candidate) => candidate.terms.has(term)).length;
    return Math.log(1 + (distinct.length - frequency + 0.5) / (frequency + 0.5));
  });
  return distinct
    .map((candidate) => ({
      candidate,
      score: terms.reduce((sum, term, i) => sum + (candidate.terms.has(term) ? (idf[i] ?? 0) : 0), 0),
    }))
    .sort((a, b) => b.score - a.score)
    .slice(0, maxCandidates)
    .map(({ candidate }) => candidate);
}
