/**
 * Answers a hundred first messages with the default settings and lists the answers; eval/README.md says what is
 * measured.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CHECKOUT, runCommand, showProgress } from '../../bench/harness/command.ts';
import { connectService, type ServiceClient } from '../../bench/harness/service-client.ts';
import { repeats } from '../chat/question-table.ts';
import { FIRST_MESSAGES, type FirstMessage, PERSON_SCHEMA } from './messages.ts';

const MODEL = 'general-8b';
/** Answers to the prompt of the banner. */
const BANNER = { prompt: 'Hello! What can you do?', answers: 60 };

interface Answer {
  kind: string;
  message: FirstMessage;
  text: string;
  tokens: number;
  /** Defects that a program can find; a person reads the answers besides. */
  defects: string[];
}

interface Completion {
  choices: [{ message: { content: string | null }; finish_reason: string }];
  usage: { completion_tokens: number };
}

async function answer(service: ServiceClient, kind: string, message: FirstMessage): Promise<Answer> {
  const schema = { type: 'json_schema', json_schema: { name: 'person', schema: PERSON_SCHEMA } };
  const formats = { json_object: { type: 'json_object' }, json_schema: schema };
  const { choices, usage } = await service.post<Completion>('/v1/chat/completions', {
    model: MODEL,
    messages: [{ role: 'user', content: message.text }],
    ...(message.format !== undefined && { response_format: formats[message.format] }),
  });
  const [{ message: reply, finish_reason: reason }] = choices;
  const text = reply.content ?? '';
  const defects = [
    ...(text.trim() === '' ? ['empty'] : []),
    ...(reason === 'stop' ? [] : [reason]),
    ...(repeats(text) ? ['repeats itself'] : []),
    ...(text.includes('\ufffd') ? ['broken character'] : []),
    ...(message.format !== undefined && !isJson(text) ? ['no JSON'] : []),
  ];
  return { kind, message, text, tokens: usage.completion_tokens, defects };
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

const cell = (text: string) => `\`${text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('`', "'")}\``;

function page(answers: readonly Answer[], banner: number): string {
  const rows = answers.map(({ kind, message, text, tokens, defects }, i) =>
    [i + 1, kind, cell(message.text), cell(text), tokens, defects.join(', ') || '-'].join(' | '),
  );
  return [
    '# First messages',
    '',
    `\`npm run eval:first-messages\`: ${answers.length} ordinary first messages to the bundled model, without any parameter but the format of the`,
    'JSON rows. "Defects" are found by the program (empty, cut, repeats itself, broken character, no JSON).',
    '',
    `- Answers with a defect: ${answers.filter(({ defects }) => defects.length > 0).length} of ${answers.length}.`,
    `- Distinct answers to "${BANNER.prompt}" in ${BANNER.answers} runs: ${banner}.`,
    '',
    '| # | kind | message | answer | tokens | defects |',
    '|---:|---|---|---|---:|---|',
    ...rows.map((row) => `| ${row} |`),
    '',
  ].join('\n');
}

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      url: { type: 'string' },
      key: { type: 'string' },
      out: { type: 'string', default: join(CHECKOUT, '.scratch/eval/first-messages.md') },
    },
  });
  const service = await connectService(flags.url === undefined ? undefined : { url: flags.url, key: flags.key ?? '' });
  try {
    const messages = Object.entries(FIRST_MESSAGES).flatMap(([kind, list]) =>
      list.map((message) => ({ kind, message })),
    );
    const answers: Answer[] = [];
    for (const { kind, message } of messages) {
      answers.push(await answer(service, kind, message));
      showProgress(answers.length, messages.length, 'first messages');
    }
    const texts = new Set<string>();
    for (let run = 0; run < BANNER.answers; run++)
      texts.add((await answer(service, 'banner', { text: BANNER.prompt })).text);
    const text = page(answers, texts.size);
    writeFileSync(flags.out, text);
    process.stdout.write(text);
    if (answers.some(({ defects }) => defects.length > 0)) process.exitCode = 1;
  } finally {
    await service.stop();
  }
}

await runCommand(main);
