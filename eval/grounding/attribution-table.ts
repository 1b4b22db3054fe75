import { readJsonLines } from '../../bench/harness/data-set.ts';
import { countColumn, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import { mean } from '../../bench/harness/statistics.ts';
import { attribute } from '../../src/knowledge-bases/grounding/attribution.ts';
import type { ContextChunk } from '../../src/knowledge-bases/grounding/gather-context.ts';
import { splitSentences } from '../../src/lib/sentences.ts';
import { Bm25 } from '../keyword/bm25.ts';
import { xquadOf } from './paired-questions.ts';
import { bestOf } from './searched.ts';

export const SPLIT_FILE = 'chat/wikisplit.jsonl.gz';
const OTHERS = 4;
/** Sentences read from the set. */
const MAX_SPLIT = 1_500;
/** Sentences per text. */
const NEIGHBOURS = 5;
/** Assistant phrases that come from no document. */
const TALK = [
  'I hope that helps you.',
  'I could not find that in the documents.',
  'Let me know if you have any further questions.',
  'Based on the documents provided, here is what I found.',
  'The documents do not mention this.',
  'In short, there are several reasons for this.',
  'There are two main parts to this.',
  'Yes, that is correct.',
];

/** A one-sentence answer, the candidate texts, and the index of its source. */
interface Case {
  answer: string;
  texts: readonly string[];
  gold: number | null;
}

/** Accuracy of attribution among the lexically nearest texts, also for sentences without a source. */
export function attributionTable(data: string): MetricTable {
  const kinds: Record<string, Case[]> = {};
  for (const code of ['en', 'de', 'ru', 'zh'] as const) {
    const { documents } = xquadOf(code).read(data);
    const near = nearestOf(documents);
    // The first is the title.
    const quoted = documents.flatMap((text, place) => {
      const { start, end } = splitSentences(text)[1] ?? { start: 0, end: 0 };
      return end === start ? [] : [{ answer: text.slice(start, end), place, text }];
    });
    kinds[`quoted, ${code}`] = quoted.map(({ answer, place, text }) => withGold(answer, text, near(text, place)));
    kinds[`none: the same article's, ${code}`] = quoted.map(({ answer, place, text }) => ({
      answer,
      texts: near(text, place),
      gold: null,
    }));
    if (code === 'en')
      kinds['none: talk'] = quoted.flatMap(({ place, text }) =>
        TALK.map((answer) => ({ answer, texts: near(text, place), gold: null })),
      );
  }
  const rows = readJsonLines<{ sentence: string; split: string[] }>(data, SPLIT_FILE).slice(0, MAX_SPLIT);
  const texts = Array.from({ length: Math.floor(rows.length / NEIGHBOURS) }, (_, i) =>
    rows
      .slice(i * NEIGHBOURS, (i + 1) * NEIGHBOURS)
      .map(({ sentence }) => sentence)
      .join(' '),
  );
  const near = nearestOf(texts);
  const split = texts.flatMap((text, place) =>
    (rows[place * NEIGHBOURS]?.split ?? []).map((answer) => ({ answer, place, text })),
  );
  kinds['split in two, en'] = split.map(({ answer, place, text }) => withGold(answer, text, near(answer, place)));
  kinds['none: split in two, en'] = split.map(({ answer, place }) => ({
    answer,
    texts: near(answer, place),
    gold: null,
  }));
  return {
    title: 'Where a sentence is from',
    subject: 'sentence',
    columns: [countColumn('sentences'), metricColumn('right')],
    rows: Object.entries(kinds).map(([name, cases]) => ({
      name,
      cells: [cases.length, mean(cases.map((one) => (isRight(one) ? 1 : 0)))],
    })),
  };
}

/** Puts the source in the middle, because ties go to the first text. */
function withGold(answer: string, text: string, others: readonly string[]): Case {
  return { answer, texts: [...others.slice(0, OTHERS / 2), text, ...others.slice(OTHERS / 2)], gold: OTHERS / 2 };
}

/** The lexically nearest other texts. */
function nearestOf(texts: readonly string[]): (query: string, without: number) => string[] {
  const index = new Bm25(texts);
  return (query, without) =>
    bestOf([...index.scores(query)], OTHERS + 1)
      .filter((place) => place !== without)
      .slice(0, OTHERS)
      .map((place) => texts[place] ?? '');
}

function isRight({ answer, texts, gold }: Case): boolean {
  const chunks = texts.map((text) => ({ text }) as ContextChunk);
  const found = attribute(answer, chunks).map(({ chunk }) => chunks.indexOf(chunk));
  return gold === null ? found.length === 0 : found.length > 0 && found.every((place) => place === gold);
}
