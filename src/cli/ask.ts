import { describeError, OperatorError } from '../lib/operator-error.ts';
import { SseParser } from '../lib/sse-parser.ts';
import { createApiClient } from './api-client.ts';
import type { CommandSpec } from './command-spec.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';

/** Fields of a `chat.completion.chunk` that are printed. */
interface ChatChunk {
  error?: { message: string };
  choices?: { delta?: { content?: string | null; annotations?: { type: string; document_name?: string }[] } }[];
  knowledge_base_context?: { results: { document_name: string; score: number }[] };
}

/** `quire ask`. */
export const askCommand: CommandSpec = {
  summary:
    'Ask a model through the HTTP API and stream its answer. QUIRE_URL and QUIRE_API_KEY set the service and the API key.',
  words: ['question'],
  options: {
    kb: {
      type: 'text',
      help: 'Name or id of a knowledge base to answer from. The sources are listed after the answer.',
    },
    model: { type: 'text', help: 'Model id (default: general-8b).' },
    system: { type: 'text', help: 'System message.' },
    json: { type: 'flag', help: 'Print the complete response as one JSON document.' },
  },
  action: async (input) => {
    const api = createApiClient();
    const { model, system, kb } = input.options;
    const isJson = input.flags.has('json');
    const response = await api.send('POST', '/v1/chat/completions', {
      model: model ?? 'general-8b',
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        { role: 'user', content: input.words[0] },
      ],
      ...(kb !== undefined && { knowledge_bases: [(await requireKnowledgeBase(api, kb)).id] }),
      stream: !isJson,
    });
    if (isJson) console.log(JSON.stringify(await response.json(), null, 2));
    else await printStream(response);
  },
};

async function printStream(response: Response): Promise<void> {
  const parser = new SseParser();
  const cited = new Set<string>();
  let context: NonNullable<ChatChunk['knowledge_base_context']> | null = null;
  for await (const bytes of readBody(response)) {
    for (const data of parser.push(bytes)) {
      if (data === '[DONE]') continue;
      const chunk = JSON.parse(data) as ChatChunk;
      if (chunk.error !== undefined) throw new OperatorError(chunk.error.message);
      const delta = chunk.choices?.[0]?.delta;
      process.stdout.write(delta?.content ?? '');
      for (const { document_name } of delta?.annotations ?? [])
        if (document_name !== undefined) cited.add(document_name);
      context = chunk.knowledge_base_context ?? context;
    }
  }
  process.stdout.write('\n');
  if (context !== null) console.log(formatSources(cited, context.results));
}

async function* readBody(response: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* response.body ?? [];
  } catch (error) {
    process.stdout.write('\n');
    throw new OperatorError(
      `The connection was lost during the answer: ${describeError((error as Error).cause ?? error)}`,
    );
  }
}

/** Lists the cited documents, or the documents in the context of the model when the answer cites none. */
function formatSources(cited: ReadonlySet<string>, retrieved: readonly { document_name: string }[]): string {
  if (cited.size > 0) return `\nSources: ${[...cited].join(', ')}`;
  const names = new Set(retrieved.map(({ document_name }) => document_name));
  return names.size === 0
    ? '\nNo document of the knowledge base matches.'
    : `\nSearched documents: ${[...names].join(', ')}`;
}
