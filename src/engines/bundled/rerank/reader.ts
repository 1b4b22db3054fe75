import { createHash } from 'node:crypto';
import { featuresOf } from './features.ts';
import { Frequencies } from './frequencies.ts';
import { Lexicon } from './lexicon.ts';
import { Question } from './question.ts';
import { WordRows } from './rows.ts';
import { Scorer } from './scorer.ts';
import { readRerankWeights } from './weights.ts';

/** Queries that stay ready: the calls that take turns. */
const MAX_QUESTIONS = 4;

/** What came of one document. */
export interface Judged {
  /** 0 to 1. */
  score: number;
  tokens: number;
}

/** A rerank model over the embedding model's word vectors. Judges each document by itself. */
export class Reranker {
  readonly #rows: WordRows;
  readonly #lexicon: Lexicon;
  readonly #scorer: Scorer;
  readonly #questions = new Map<string, Question>();

  /** Throws when either file is none, or the weights were trained on other rows. */
  constructor(weights: Uint8Array, embedder: Uint8Array) {
    const { head, slots } = readRerankWeights(weights);
    if (createHash('sha256').update(embedder).digest('hex') !== head.rows) {
      throw new Error('the rerank model was trained on another embedding model');
    }
    this.#rows = new WordRows(embedder);
    this.#lexicon = new Lexicon(new Frequencies(slots, head.texts));
    this.#scorer = new Scorer(head);
  }

  /** Numbers that training has found: its own, and those of the rows. */
  get parameters(): number {
    return this.#scorer.parameters + this.#rows.parameters;
  }

  /** Tokens that are read of a query, once for all documents. */
  tokensOf(query: string): number {
    return this.#question(query).tokens;
  }

  /** Judges a document; one without text scores 0. */
  judge(query: string, document: string): Judged {
    if (!/\S/.test(document)) return { score: 0, tokens: 0 };
    const question = this.#question(query);
    const { values, tokens } = featuresOf(question, document);
    return { score: this.#scorer.score(values, question.terms.length), tokens };
  }

  #question(query: string): Question {
    const known = this.#questions.get(query);
    if (known !== undefined) return known;
    const [oldest] = this.#questions.keys();
    if (this.#questions.size >= MAX_QUESTIONS && oldest !== undefined) this.#questions.delete(oldest);
    const question = new Question(query, this.#lexicon, this.#rows);
    this.#questions.set(query, question);
    return question;
  }
}
