import { readGzipText, readJsonLines } from '../../bench/harness/data-set.ts';
import type { Gains } from '../measures/ranking.ts';

/** A test collection: queries, and which of the documents answer each. */
export interface Collection {
  name: string;
  documents: string[];
  queries: string[];
  /** Gains per query. Every query has a relevant document. */
  gains: Gains[];
}

/** Length of a passage of the chunking corpora, in characters. */
const PIECE_CHARS = 1000;
/** Characters that a passage shares at least with a gold span to be relevant. */
const LEAST_OVERLAP_CHARS = 20;
/** Uses every fifth test question, to save time. */
const PARAPHRASES_EVERY = 5;
const QUESTIONS = 'chunking/questions.jsonl.gz';
const INTENTS = 'chat/banking77_intents.jsonl.gz';
const CORPORA = ['chatlogs', 'finance', 'pubmed', 'state_of_the_union', 'wikitexts'] as const;

/** A collection that is read on demand. */
export interface CollectionSource {
  name: string;
  /** Below the data folder. */
  files: readonly string[];
  read(data: string): Collection;
}

/** A collection of `retrieval/` under a display name. */
export function stored(name: string, folder: string): CollectionSource {
  const [corpus, queries, judgements] = ['corpus.jsonl.gz', 'queries.jsonl.gz', 'qrels.tsv.gz'].map(
    (file) => `retrieval/${folder}/${file}`,
  ) as [string, string, string];
  return {
    name,
    files: [corpus, queries, judgements],
    read(data) {
      const documents = readJsonLines<{ _id: string; title?: string; text: string }>(data, corpus);
      const places = new Map(documents.map(({ _id }, place) => [_id, place]));
      const gains = new Map<string, Map<number, number>>();
      for (const line of readGzipText(data, judgements).split('\n').slice(1)) {
        const [query = '', document = '', grade] = line.split('\t');
        const place = places.get(document);
        if (place === undefined || !(Number(grade) > 0)) continue;
        gains.set(query, (gains.get(query) ?? new Map()).set(place, Number(grade)));
      }
      const asked = readJsonLines<{ _id: string; text: string }>(data, queries).flatMap(({ _id, text }) => {
        const own = gains.get(_id);
        return own === undefined ? [] : [{ text, own }];
      });
      return {
        name,
        documents: documents.map(({ title, text }) => `${title ?? ''}\n${text}`.trim()),
        queries: asked.map(({ text }) => text),
        gains: asked.map(({ own }) => own),
      };
    },
  };
}

interface ChunkingQuestion {
  corpus_id: string;
  question: string;
  references: { start_index: number; end_index: number }[];
}

/** The chunking questions over pieces of 1,000 characters: those that share text with a gold span are relevant. */
export const chunking: CollectionSource = {
  name: 'chunking questions',
  files: [QUESTIONS, ...CORPORA.map(corpusFile)],
  read(data) {
    const pieces = CORPORA.flatMap((corpus) => {
      // Offsets count code points.
      const characters = [...readGzipText(data, corpusFile(corpus))];
      return Array.from({ length: Math.ceil(characters.length / PIECE_CHARS) }, (_, at) => {
        const start = at * PIECE_CHARS;
        return { corpus, start, text: characters.slice(start, start + PIECE_CHARS).join('') };
      });
    });
    const asked = readJsonLines<ChunkingQuestion>(data, QUESTIONS).flatMap(
      ({ corpus_id: corpus, question, references }) => {
        const own = new Map<number, number>();
        for (const [place, piece] of pieces.entries()) {
          const shared = references.some(
            ({ start_index: from, end_index: to }) =>
              Math.min(piece.start + PIECE_CHARS, to) - Math.max(piece.start, from) > LEAST_OVERLAP_CHARS,
          );
          if (piece.corpus === corpus && shared) own.set(place, 1);
        }
        return own.size === 0 ? [] : [{ question, own }];
      },
    );
    return {
      name: chunking.name,
      documents: pieces.map(({ text }) => text),
      queries: asked.map(({ question }) => question),
      gains: asked.map(({ own }) => own),
    };
  },
};

/** Banking77: a question is a query for its paraphrases. */
export const paraphrases: CollectionSource = {
  name: 'banking77, other words',
  files: [INTENTS],
  read(data) {
    const rows = readJsonLines<{ text: string; intent: string; split: string }>(data, INTENTS);
    const kept = rows.filter(({ split }) => split === 'train');
    const asked = rows.filter(({ split }) => split === 'test').filter((_, at) => at % PARAPHRASES_EVERY === 0);
    const ofIntent = new Map<string, Map<number, number>>();
    for (const [place, { intent }] of kept.entries()) {
      ofIntent.set(intent, (ofIntent.get(intent) ?? new Map()).set(place, 1));
    }
    return {
      name: paraphrases.name,
      documents: kept.map(({ text }) => text),
      queries: asked.map(({ text }) => text),
      gains: asked.map(({ intent }) => ofIntent.get(intent) ?? new Map()),
    };
  },
};

function corpusFile(corpus: string): string {
  return `chunking/raw/corpora/${corpus}.md.gz`;
}
