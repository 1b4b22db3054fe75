import { clientEnvironment } from '../config.ts';
import { SseParser } from '../lib/sse-parser.ts';
import { reasonOf, StartError } from '../lib/start-error.ts';
import type { CommandSpec } from './commands.ts';
import { WrongCall } from './wrong-call.ts';

/** `quire ask`. */
export const ask: CommandSpec = {
  summary:
    'Ask a model through the HTTP API and print its answer as it comes. QUIRE_URL and QUIRE_API_KEY say where and who.',
  words: ['question'],
  options: {
    model: { type: 'text', help: 'Model id (general-8b).' },
    system: { type: 'text', help: 'System message.' },
    json: { type: 'flag', help: 'Print the whole answer as one JSON document.' },
  },
  action: async (input) => {
    const { url, apiKey } = clientEnvironment();
    if (apiKey === null) throw new WrongCall('Set QUIRE_API_KEY to an API key; the first start prints one.');
    const { model, system } = input.options;
    const isWhole = input.flags.has('json');
    const body = {
      model: model ?? 'general-8b',
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        { role: 'user', content: input.words[0] },
      ],
      stream: !isWhole,
    };
    const answer = await post(`${url.replace(/\/$/, '')}/v1/chat/completions`, apiKey, body);
    if (isWhole) console.log(JSON.stringify(await answer.json(), null, 2));
    else await printStream(answer);
  },
};

async function post(url: string, apiKey: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  let answer: Response;
  try {
    answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  } catch (error) {
    throw new StartError(`${url} does not answer: ${reasonOf((error as Error).cause ?? error)}`);
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  throw new StartError(`${answer.status}: ${messageOf(text)}`);
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return text.slice(0, 200);
  }
}

async function printStream(answer: Response): Promise<void> {
  const parser = new SseParser();
  for await (const bytes of answer.body ?? []) {
    for (const data of parser.push(bytes)) {
      if (data === '[DONE]') continue;
      const frame = JSON.parse(data) as { error?: { message: string }; choices?: { delta?: { content?: string } }[] };
      if (frame.error !== undefined) throw new StartError(frame.error.message);
      process.stdout.write(frame.choices?.[0]?.delta?.content ?? '');
    }
  }
  process.stdout.write('\n');
}
