import type { ChatCompletionChunk, KnowledgeBaseContext } from '../chat/schema.ts';
import type { ApiClient } from './api-client.ts';
import { responseFrames } from './response-frames.ts';

/** An answer that has been streamed. */
export interface StreamedAnswer {
  text: string;
  /** One line about the documents; null without a knowledge base. */
  sources: string | null;
  /** Whether `signal` ended it early. */
  isStopped: boolean;
}

/** Sends a chat request and passes the answer to `write` as it is generated. An abort ends it without error. */
export async function streamAnswer(
  api: ApiClient,
  request: object,
  write: (text: string) => unknown,
  signal?: AbortSignal,
): Promise<StreamedAnswer> {
  const cited = new Set<string>();
  let context: KnowledgeBaseContext | null = null;
  let text = '';
  try {
    const body = { ...request, stream: true };
    const response = await api.send('POST', '/v1/chat/completions', body, signal ? { signal } : {});
    for await (const chunk of responseFrames<ChatCompletionChunk>(response)) {
      const delta = chunk.choices[0]?.delta;
      if (delta?.content) write(delta.content);
      text += delta?.content ?? '';
      for (const citation of delta?.annotations ?? []) {
        if ('document_name' in citation) cited.add(citation.document_name);
      }
      context = chunk.knowledge_base_context ?? context;
    }
  } catch (error) {
    if (signal?.aborted) return { text, sources: null, isStopped: true };
    throw error;
  }
  return { text, sources: context === null ? null : formatSources(cited, context.results), isStopped: false };
}

/** Lists the cited documents, or the documents in the context of the model when the answer cites none. */
function formatSources(cited: ReadonlySet<string>, retrieved: readonly { document_name: string }[]): string {
  if (cited.size > 0) return `Sources: ${[...cited].join(', ')}`;
  const names = new Set(retrieved.map(({ document_name }) => document_name));
  return names.size === 0
    ? 'No document of the knowledge base matches.'
    : `Searched documents: ${[...names].join(', ')}`;
}
