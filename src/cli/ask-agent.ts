import { OperatorError } from '../lib/operator-error.ts';
import { truncateGraphemes } from '../lib/truncate.ts';
import type { ResponseEvent } from '../responses/event-schema.ts';
import type { FileSearchItem } from '../responses/item-schema.ts';
import type { ResponseResource } from '../responses/schema.ts';
import type { ApiClient } from './api-client.ts';
import { responseFrames } from './response-frames.ts';

/** Longest query that is shown in whole. */
const MAX_QUERY_CHARACTERS = 100;

/** What `quire ask --agent` asks. */
export interface AgentQuestion {
  model: string;
  question: string;
  instructions: string | undefined;
  /** Id of the knowledge base to search. */
  knowledgeBaseId: string | undefined;
}

/** The body of the request to `/v1/responses`. */
export function agentRequest({ model, question, instructions, knowledgeBaseId }: AgentQuestion): object {
  return {
    model,
    input: question,
    ...(instructions !== undefined && { instructions }),
    ...(knowledgeBaseId !== undefined && {
      tools: [{ type: 'file_search', file_search: { knowledge_base_ids: [knowledgeBaseId] } }, { type: 'query_table' }],
    }),
  };
}

/** Runs a response, prints each search when it has ended, the answer as it is written, and its sources. */
export async function askAgent(api: ApiClient, question: AgentQuestion): Promise<void> {
  const response = await api.send('POST', '/v1/responses', { ...agentRequest(question), stream: true });
  const cited = new Set<string>();
  for await (const event of responseFrames<ResponseEvent>(response)) {
    if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
    else if (event.type === 'response.output_text.done') process.stdout.write('\n');
    else if ('response' in event) reportEnd(event.response);
    else if (event.type === 'response.output_item.done') {
      const { item } = event;
      if (item.type === 'file_search_call') console.log(describeSearch(item));
      const annotations = item.type === 'message' ? item.content.flatMap((part) => part.annotations) : [];
      for (const citation of annotations) if ('document_name' in citation) cited.add(citation.document_name);
    }
  }
  if (cited.size > 0) console.log(`\nSources: ${[...cited].join(', ')}`);
}

/** Throws the error of a response that has failed. */
function reportEnd({ error, incomplete_details: details }: ResponseResource): void {
  if (error !== null) throw new OperatorError(error.message);
  if (details !== null) console.error(`The answer is incomplete: ${details.reason}.`);
}

/** One line about a search: its queries, and the documents that it found. */
function describeSearch({ queries, results }: FileSearchItem): string {
  const names = [...new Set(results.map(({ document_name }) => document_name))];
  const documents = names.length === 0 ? 'nothing found' : names.join(', ');
  const query = truncateGraphemes(queries.join('; ').replace(/\s+/g, ' '), MAX_QUERY_CHARACTERS);
  return `Search: ${query}\n  -> ${documents}\n`;
}
