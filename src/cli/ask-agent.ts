import { OperatorError } from '../lib/operator-error.ts';
import { truncateGraphemes } from '../lib/truncate.ts';
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

/** Fields of the events that are printed. */
interface AgentEvent {
  type: string;
  delta?: string;
  item?: {
    type: string;
    queries?: string[];
    results?: { document_name: string }[];
    content?: { annotations?: { document_name?: string }[] }[];
  };
  response?: { status: string; incomplete_details: { reason: string } | null; error: { message: string } | null };
}

/** The body of the request to `/v1/responses`. */
export function agentRequest({ model, question, instructions, knowledgeBaseId }: AgentQuestion): object {
  return {
    model,
    input: question,
    ...(instructions !== undefined && { instructions }),
    ...(knowledgeBaseId !== undefined && {
      tools: [{ type: 'file_search', file_search: { knowledge_base_ids: [knowledgeBaseId] } }],
    }),
  };
}

/** Runs a response, prints each search when it has ended, the answer as it is written, and its sources. */
export async function askAgent(api: ApiClient, question: AgentQuestion): Promise<void> {
  const response = await api.send('POST', '/v1/responses', { ...agentRequest(question), stream: true });
  const cited = new Set<string>();
  for await (const { type, delta, item, response: ended } of responseFrames<AgentEvent>(response)) {
    if (type === 'response.output_text.delta') process.stdout.write(delta ?? '');
    if (type === 'response.output_text.done') process.stdout.write('\n');
    if (type === 'response.output_item.done' && item?.type === 'file_search_call') console.log(describeSearch(item));
    const annotations = item?.content?.flatMap((part) => part.annotations ?? []) ?? [];
    for (const { document_name: name } of annotations) if (name !== undefined) cited.add(name);
    if (ended?.error != null) throw new OperatorError(ended.error.message);
    const reason = ended?.incomplete_details?.reason;
    if (reason !== undefined) console.error(`The answer is incomplete: ${reason}.`);
  }
  if (cited.size > 0) console.log(`\nSources: ${[...cited].join(', ')}`);
}

/** One line about a search: its queries, and the documents that it found. */
function describeSearch({ queries = [], results = [] }: NonNullable<AgentEvent['item']>): string {
  const names = [...new Set(results.map(({ document_name }) => document_name))];
  const found = names.length === 0 ? 'nothing found' : names.join(', ');
  const query = truncateGraphemes(queries.join('; ').replace(/\s+/g, ' '), MAX_QUERY_CHARACTERS);
  return `Search: ${query}\n  -> ${found}\n`;
}
