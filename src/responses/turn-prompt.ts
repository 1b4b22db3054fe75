import type { ChatMessage, ChatPrompt, FunctionTool } from '../engines/engine.ts';
import { DOCUMENT_SHARES } from '../knowledge-bases/grounding/ground-prompt.ts';
import { toJoinedDocuments } from '../knowledge-bases/grounding/prompt-documents.ts';
import { retrievalQuery } from '../knowledge-bases/grounding/retrieval-query.ts';
import { withoutSpecialTokens } from '../knowledge-bases/grounding/special-tokens.ts';
import { type ConversationItem, takeShare, toConversation, toMessages, withResultShare } from './conversation.ts';
import { forcedQuery, searchTool, toJoinableResult } from './file-search.ts';
import type { OutputItem, SearchResult } from './item-schema.ts';
import { offeredFunction, offeredTools } from './mcp-tools.ts';
import type { PreparedResponse } from './prepare-response.ts';
import { queryTableTool } from './table-query.ts';
import { truncateMessages } from './truncate-messages.ts';
import { FILE_SEARCH, type TurnPlan } from './turn-loop.ts';

/** The prepared response from which the prompts of its turns are built. */
export type PromptSource = Omit<PreparedResponse, 'input'>;

/** A prompt of a model call, and the share of the results of each search that is in it. */
export interface TurnPrompt {
  prompt: ChatPrompt;
  resultShare: number;
}

/**
 * Prompts of a model call to try in turn while the engine answers `context_length_exceeded`: without older messages if
 * the request allows it, then with fewer results of searches, at last without any.
 */
export function* turnPrompts(
  source: PromptSource,
  output: readonly OutputItem[],
  plan: TurnPlan,
): Generator<TurnPrompt, void, undefined> {
  const counts = [...source.conversation, ...output].map((item) =>
    item.type === 'file_search_call' ? item.results.length : 0,
  );
  const most = source.selectsDocuments ? 0 : Math.max(0, ...counts);
  for (const resultShare of [...DOCUMENT_SHARES, 0]) {
    if (resultShare < 1 && most === 0) return;
    if (resultShare > 0 && most * resultShare < 1 && most > 0) continue;
    const prompt = turnPrompt(source, output, plan, resultShare);
    yield { prompt, resultShare };
    let messages = source.truncates ? truncateMessages(prompt.messages) : null;
    for (; messages !== null; messages = truncateMessages(messages)) {
      yield { prompt: { ...prompt, messages }, resultShare };
    }
  }
}

/** The prompt of a model call after the items of `output`. */
export function turnPrompt(
  source: PromptSource,
  output: readonly OutputItem[],
  plan: TurnPlan,
  resultShare = 1,
): ChatPrompt {
  const isForced = source.rules.searchesFirst;
  const query = isForced ? forcedQuery(retrievalQuery(conversationMessages(source))) : null;
  // First, so that a small model chooses the search among tools that fit equally.
  const queriesTables = source.search?.queriesTables === true && !isForced;
  const searches = plan.offersSearch ? [searchTool(query), ...(queriesTables ? [queryTableTool()] : [])] : [];
  // Behind functions, whose positions name the fields of errors.
  const tools = [...searches, ...(plan.offersFunctions ? source.functions : []), ...mcpFunctions(source, output, plan)];
  const prompt: ChatPrompt = {
    kind: 'chat',
    // Only the query is sent: the search needs nothing else, and a long conversation could exceed the context.
    messages:
      isOnlySearch(plan) && query !== null
        ? [{ role: 'user', content: query }]
        : allMessages(source, output, resultShare),
    tools,
    toolChoice: plan.toolChoice,
    parallelToolCalls: source.parallelToolCalls,
  };
  if (plan.toolChoice !== 'none' || !source.selectsDocuments) return prompt;
  // An engine that selects sentences gets the search results as documents, like a grounded chat completion. Tools and
  // results of earlier turns are omitted, because it would also answer from their texts.
  const results = searchResults(output);
  const isComputed = ({ attributes }: SearchResult) => attributes['computed'] === 'true';
  const answers = results
    .filter(isComputed)
    .map(({ document_name: title, text }) => ({ title, text, isComputed: true }));
  const passages = results.filter((result) => !isComputed(result)).map(toJoinableResult);
  const documents = [...answers, ...toJoinedDocuments(passages)];
  const spoken = source.conversation.filter(({ type }) => type !== 'file_search_call');
  return { ...prompt, messages: toPromptMessages(source, spoken), tools: [], documents };
}

const isOnlySearch = ({ toolChoice }: TurnPlan): boolean =>
  typeof toolChoice === 'object' && toolChoice.name === FILE_SEARCH;

function mcpFunctions(source: PromptSource, output: readonly OutputItem[], plan: TurnPlan): FunctionTool[] {
  const offered = [...offeredTools({ ...source, servers: source.mcpServers }, output)].filter(
    ([, { server }]) => plan.onlyServer === undefined || server.label === plan.onlyServer,
  );
  return offered.map(([name, tool]) => offeredFunction(name, tool, cleaner(source)));
}

/** Results of all searches, in the order of the searches; with a share, the best ones of each. */
export function searchResults(output: readonly OutputItem[], share = 1) {
  return output.flatMap((item) => (item.type === 'file_search_call' ? takeShare(item.results, share) : []));
}

/** Messages of the conversation and of the output so far, without items that a crash has interrupted. */
export function allMessages(source: PromptSource, output: readonly OutputItem[], resultShare = 1): ChatMessage[] {
  const finished = output.filter((item) => {
    if (item.type === 'file_search_call') return item.queries.length > 0;
    if (item.type === 'mcp_call') return item.status !== 'in_progress';
    return item.type === 'mcp_list_tools' || item.type === 'mcp_approval_request' || item.status === 'completed';
  });
  const items = [...source.conversation, ...toConversation(finished)];
  return toPromptMessages(source, resultShare === 1 ? items : withResultShare(items, resultShare));
}

/** Messages of the conversation alone. */
export function conversationMessages(source: PromptSource): ChatMessage[] {
  return toPromptMessages(source, source.conversation);
}

function toPromptMessages(source: PromptSource, items: readonly ConversationItem[]): ChatMessage[] {
  const { instructions } = source;
  const messages = toMessages(items, cleaner(source));
  return instructions === null ? messages : [{ role: 'system', content: instructions }, ...messages];
}

/** An upstream server may parse control tokens in the text of others; the local engine never does. */
function cleaner({ admission }: PromptSource): (text: string) => string {
  return admission.engine.backend().engine === 'upstream' ? withoutSpecialTokens : (text) => text;
}
