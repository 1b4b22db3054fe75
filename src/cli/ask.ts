import { createApiClient } from './api-client.ts';
import { agentRequest, askAgent } from './ask-agent.ts';
import type { CommandSpec } from './command-spec.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';
import { responseFrames } from './response-frames.ts';

/** Fields of a `chat.completion.chunk` that are printed. */
interface ChatChunk {
  choices?: { delta?: { content?: string | null; annotations?: { type: string; document_name?: string }[] } }[];
  knowledge_base_context?: { results: { document_name: string; score: number }[] };
}

const DEFAULT_MODEL = 'general-8b';

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
    agent: {
      type: 'flag',
      help: 'Let the model search the knowledge base itself, as often as it needs, and show each search.',
    },
    json: { type: 'flag', help: 'Print the complete response as one JSON document.' },
  },
  action: async (input) => {
    const api = createApiClient();
    const { model, system, kb } = input.options;
    const isJson = input.flags.has('json');
    if (input.flags.has('agent')) {
      const knowledgeBaseId = kb === undefined ? undefined : (await requireKnowledgeBase(api, kb)).id;
      const question = {
        model: model ?? DEFAULT_MODEL,
        question: input.words[0] ?? '',
        instructions: system,
        knowledgeBaseId,
      };
      if (!isJson) return askAgent(api, question);
      console.log(JSON.stringify(await api.json('POST', '/v1/responses', agentRequest(question)), null, 2));
      return;
    }
    const response = await api.send('POST', '/v1/chat/completions', {
      model: model ?? DEFAULT_MODEL,
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
  const cited = new Set<string>();
  let context: NonNullable<ChatChunk['knowledge_base_context']> | null = null;
  for await (const chunk of responseFrames<ChatChunk>(response)) {
    const delta = chunk.choices?.[0]?.delta;
    process.stdout.write(delta?.content ?? '');
    for (const { document_name } of delta?.annotations ?? []) if (document_name !== undefined) cited.add(document_name);
    context = chunk.knowledge_base_context ?? context;
  }
  process.stdout.write('\n');
  if (context !== null) console.log(formatSources(cited, context.results));
}

/** Lists the cited documents, or the documents in the context of the model when the answer cites none. */
function formatSources(cited: ReadonlySet<string>, retrieved: readonly { document_name: string }[]): string {
  if (cited.size > 0) return `\nSources: ${[...cited].join(', ')}`;
  const names = new Set(retrieved.map(({ document_name }) => document_name));
  return names.size === 0
    ? '\nNo document of the knowledge base matches.'
    : `\nSearched documents: ${[...names].join(', ')}`;
}
