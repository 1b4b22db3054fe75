import { describeError, OperatorError } from '../lib/operator-error.ts';
import { SseParser } from '../lib/sse-parser.ts';
import { apiClient } from './api-client.ts';
import type { CommandSpec } from './command-spec.ts';
import { findBase } from './knowledge-base.ts';

/** What of an answer's frames is printed. */
interface Frame {
  error?: { message: string };
  choices?: { delta?: { content?: string | null; annotations?: { type: string; document_name?: string }[] } }[];
  knowledge_base_context?: { results: { document_name: string; score: number }[] };
}

/** `quire ask`. */
export const ask: CommandSpec = {
  summary:
    'Ask a model through the HTTP API and print its answer as it comes. QUIRE_URL and QUIRE_API_KEY say where and who.',
  words: ['question'],
  options: {
    kb: { type: 'text', help: 'Answer from this knowledge base, by name or id, and name the sources.' },
    model: { type: 'text', help: 'Model id (general-8b).' },
    system: { type: 'text', help: 'System message.' },
    json: { type: 'flag', help: 'Print the whole answer as one JSON document.' },
  },
  action: async (input) => {
    const api = apiClient();
    const { model, system, kb } = input.options;
    const isWhole = input.flags.has('json');
    const answer = await api.send('POST', '/v1/chat/completions', {
      model: model ?? 'general-8b',
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        { role: 'user', content: input.words[0] },
      ],
      ...(kb !== undefined && { knowledge_bases: [(await findBase(api, kb)).id] }),
      stream: !isWhole,
    });
    if (isWhole) console.log(JSON.stringify(await answer.json(), null, 2));
    else await printStream(answer);
  },
};

async function printStream(answer: Response): Promise<void> {
  const parser = new SseParser();
  const cited = new Set<string>();
  let context: NonNullable<Frame['knowledge_base_context']> | null = null;
  for await (const bytes of bodyOf(answer)) {
    for (const data of parser.push(bytes)) {
      if (data === '[DONE]') continue;
      const frame = JSON.parse(data) as Frame;
      if (frame.error !== undefined) throw new OperatorError(frame.error.message);
      const delta = frame.choices?.[0]?.delta;
      process.stdout.write(delta?.content ?? '');
      for (const { document_name } of delta?.annotations ?? [])
        if (document_name !== undefined) cited.add(document_name);
      context = frame.knowledge_base_context ?? context;
    }
  }
  process.stdout.write('\n');
  if (context !== null) console.log(sourcesOf(cited, context.results));
}

async function* bodyOf(answer: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* answer.body ?? [];
  } catch (error) {
    process.stdout.write('\n');
    throw new OperatorError(`The answer broke off: ${describeError((error as Error).cause ?? error)}`);
  }
}

/** The documents that the answer is from; where none is told, those that the model was given. */
function sourcesOf(cited: ReadonlySet<string>, given: readonly { document_name: string }[]): string {
  if (cited.size > 0) return `\nSources: ${[...cited].join(', ')}`;
  const names = new Set(given.map(({ document_name }) => document_name));
  return names.size === 0 ? '\nNothing in the knowledge base matches.' : `\nLooked at: ${[...names].join(', ')}`;
}
