import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { completeAll, type EvaluatedModel } from './chat-client.ts';
import { repeats } from './question-table.ts';

/** User messages by kind, and a pattern of adequate replies. */
const TALK: Readonly<Record<string, { said: readonly string[]; kind: RegExp }>> = {
  greetings: {
    said: [
      'Hi',
      'Hello!',
      'hey there',
      'Good morning',
      'hello, how are you?',
      'Hi Quire!',
      'Hey!!',
      'good evening to you',
    ],
    kind: /^(?:Hello|Hi|Hey|I am doing well|I'm doing|Good)/,
  },
  identity: {
    said: [
      'Who are you?',
      'what is your name?',
      'are you a human?',
      'Are you GPT-4?',
      'who made you',
      'what are you exactly?',
    ],
    kind: /model|Quire|assistant/,
  },
  thanks: {
    said: ['thanks', 'Thank you so much!', 'ok thank you', 'thanks for the help'],
    kind: /welcome|glad|pleasure|help/,
  },
  goodbyes: { said: ['bye', 'Goodbye!', 'see you tomorrow', 'good night'], kind: /bye|day|later|night/i },
};
const OPEN = [
  ...[
    'Tell me a story about a dog.',
    'Write a short text about the sea.',
    'How do I make tea?',
    'Explain what a computer is.',
  ],
  ...[
    'Tell me about London.',
    'Give me some advice for a job interview.',
    'What should I cook tonight?',
    'Why is the sky blue?',
  ],
  ...['Write an email to my boss.', 'How can I learn a language?', 'Describe a forest.', 'Write a poem about winter.'],
];

/** Measures adequate replies to small talk, with and without documents, and repetitions in replies to open requests. */
export async function talkTable(service: ServiceClient, subjects: readonly EvaluatedModel[]): Promise<MetricTable> {
  const context =
    'Use the following context to answer.\n\nContext:\nThe tower was built in 1889. It is 330 metres tall.';
  const rows: MetricRow[] = [];
  for (const [name, { said, kind }] of Object.entries(TALK)) {
    for (const subject of subjects) {
      const ask = async (system: string | null) => {
        const before = system === null ? [] : [{ role: 'system' as const, content: system }];
        const chats = said.map((content) => ({ messages: [...before, { role: 'user' as const, content }] }));
        const answers = await completeAll(service, subject, chats, name);
        return answers.filter(({ text }) => kind.test(text)).length / said.length;
      };
      rows.push({ name: `${name}: ${subject.name}`, cells: [said.length, await ask(null), await ask(context), null] });
    }
  }
  for (const subject of subjects) {
    const chats = OPEN.map((content) => ({ messages: [{ role: 'user' as const, content }] }));
    const answers = await completeAll(service, subject, chats, 'open requests');
    const going = answers.filter(({ text }) => repeats(text)).length / OPEN.length;
    rows.push({ name: `open requests: ${subject.name}`, cells: [OPEN.length, null, null, going] });
  }
  return {
    title: 'Talk',
    subject: 'said',
    columns: [
      countColumn('turns'),
      metricColumn('answered in kind'),
      metricColumn('the same beside a context'),
      metricColumn('repeats itself'),
    ],
    rows,
  };
}
