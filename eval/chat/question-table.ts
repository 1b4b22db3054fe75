import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { type Chat, type ChatAnswer, completeAll, type EvaluatedModel, REJECTED } from './chat-client.ts';
import { type Amount, casesOf, chosenOf, type QuestionCase, type QuestionSet } from './question-cases.ts';

/** Replies that decline to answer. */
const DECLINED =
  /\b(?:could not find|couldn't find|don't know|do not know|not in the (?:documents|context)|cannot find|no answer)\b/i;

/** Prompt formats with passages, each used for an equal share of the cases. */
const SHAPES: readonly ((passages: readonly string[], question: string) => Chat)[] = [
  (passages, question) => ({
    messages: [
      {
        role: 'system',
        content: `Use the following context to answer the question. If the answer is not in it, say so.\n\nContext:\n${passages.join('\n\n')}`,
      },
      { role: 'user', content: question },
    ],
  }),
  (passages, question) => ({
    messages: [{ role: 'user', content: `Context:\n${passages.join('\n\n')}\n\nQuestion: ${question}\nAnswer:` }],
  }),
  (passages, question) => ({
    messages: [
      {
        role: 'system',
        content: `You are a helpful assistant. Answer only from these sources:\n\n${passages.map((text, i) => `[${i + 1}] ${text}`).join('\n\n')}`,
      },
      { role: 'user', content: question },
    ],
  }),
  (passages, question) => ({
    messages: [
      {
        role: 'user',
        content: `<documents>\n${passages.map((text) => `<document>\n${text}\n</document>`).join('\n')}\n</documents>\n\n${question}`,
      },
    ],
  }),
];

/** The cases of one table. */
export interface QuestionPart {
  name: string;
  set: QuestionSet;
  amount: Amount;
  /** Maximum answerable and unanswerable questions. */
  most: number;
}

/** Measures right answers, answered questions and declined unanswerable questions. */
export async function questionTable(
  service: ServiceClient,
  subjects: readonly EvaluatedModel[],
  { name, set, amount, most }: QuestionPart,
  half: number,
): Promise<MetricTable> {
  const { asked, unanswerable } = casesOf(set, amount, chosenOf(set, half, most));
  const rows: MetricRow[] = [];
  for (const subject of subjects) {
    const said = await completeAll(service, subject, asked.map(chatOf), name);
    const declined = await completeAll(service, subject, unanswerable.map(chatOf), `${name}, unanswerable`);
    rows.push({ name: subject.name, cells: cellsOf(asked, said, declined) });
  }
  return {
    title: `Questions: ${name}`,
    subject: 'weights',
    columns: [
      countColumn('questions'),
      metricColumn('right sentence'),
      metricColumn('F1'),
      metricColumn('answered'),
      metricColumn('right, of answered'),
      metricColumn('unanswerable declined'),
      metricColumn('repeats itself'),
      countColumn('rejected'),
    ],
    rows,
  };
}

const chatOf = ({ passages, question }: QuestionCase, index: number): Chat =>
  (SHAPES[index % SHAPES.length] as (typeof SHAPES)[number])(passages, question);

function cellsOf(
  asked: readonly QuestionCase[],
  said: readonly ChatAnswer[],
  unanswerable: readonly ChatAnswer[],
): number[] {
  const right = asked.filter(({ isRight }, i) => isRight?.(said[i]?.text ?? '') ?? false).length;
  const answered = said.filter((answer) => !isDeclined(answer)).length;
  const f1 = asked.reduce(
    (sum, { sentences }, i) => sum + Math.max(0, ...sentences.map((one) => overlap(one, said[i]?.text ?? ''))),
    0,
  );
  const repeating = said.filter(({ text }) => repeats(text)).length;
  const all = asked.length;
  return [
    all,
    right / all,
    f1 / all,
    answered / all,
    right / answered,
    unanswerable.filter((answer) => isDeclined(answer) && answer.reason !== REJECTED).length / all,
    repeating / all,
    [...said, ...unanswerable].filter(({ reason }) => reason === REJECTED).length,
  ];
}

const isDeclined = ({ text }: ChatAnswer): boolean => text.trim() === '' || DECLINED.test(text);

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** F1 of the words of two texts, with their counts. */
export function overlap(one: string, other: string): number {
  const left = wordsOf(one);
  const right = wordsOf(other);
  const counts = new Map<string, number>();
  for (const word of left) counts.set(word, (counts.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of right) {
    const rest = counts.get(word) ?? 0;
    if (rest > 0) shared += 1;
    counts.set(word, rest - 1);
  }
  return shared === 0 ? 0 : (2 * shared) / (left.length + right.length);
}

/** Whether an answer repeats a sequence of four words. */
export function repeats(text: string): boolean {
  const words = wordsOf(text);
  const seen = new Set<string>();
  for (let i = 0; i + 4 <= words.length; i++) {
    const run = words.slice(i, i + 4).join(' ');
    if (seen.has(run)) return true;
    seen.add(run);
  }
  return false;
}
