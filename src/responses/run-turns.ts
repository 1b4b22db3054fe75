import type { ChatPrompt, FinishReason } from '../engines/engine.ts';
import { ApiError } from '../errors.ts';
import type { Generation } from '../inference/generate.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { startFitting } from '../inference/start-fitting.ts';
import { retrievalQuery } from '../knowledge-bases/grounding/retrieval-query.ts';
import { estimatePromptTokens } from '../knowledge-bases/grounding/token-estimate.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import { ANY_ARGUMENTS } from '../mcp-servers/mcp-tool.ts';
import type { Outcome, ResponseProgress } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import { parseQuery, searchFiles } from './file-search.ts';
import type { FileSearchItem } from './item-schema.ts';
import { responseMetrics } from './metrics.ts';
import { listMcpTools, loopTools, type McpLoop, requireChosenTool, runApprovedCalls, runMcpCalls } from './run-mcp.ts';
import { runTableQuery } from './table-query.ts';
import { type McpCall, type SearchCall, TurnCalls } from './turn-calls.ts';
import {
  endOfTurn,
  FILE_SEARCH,
  isSameQuery,
  type LoopState,
  planTurn,
  QUERY_TABLE,
  type TurnPlan,
} from './turn-loop.ts';
import { allMessages, conversationMessages, turnPrompts } from './turn-prompt.ts';

/** Searches of one turn that run at the same time. */
const MAX_CONCURRENT_SEARCHES = 4;
/** Searches of one turn that are executed; a model that calls more gets empty results for the others. */
const MAX_SEARCHES_PER_TURN = 16;

/** A turn loop: what it runs for, and what it writes to. */
export interface TurnLoop extends McpLoop {
  /** Whether a model call has completed. */
  hasCompletedTurn: boolean;
}

/** A started model call. */
interface StartedTurn {
  plan: TurnPlan;
  generation: Generation;
}

/** The end of a model call. */
interface RelayedTurn {
  reason: FinishReason;
  searches: SearchCall[];
  mcpCalls: McpCall[];
  /** Calls that the client makes or approves. */
  functionCalls: number;
}

/** Starts the next model call. Resolves when its prompt has been processed. Throws as `startGeneration` does. */
async function startTurn(loop: TurnLoop): Promise<StartedTurn> {
  const { deps, prepared, signal } = loop;
  const plan = planTurn(prepared.rules, loopState(loop));
  const candidates = turnPrompts(prepared, loop.emitter.output, plan);
  const adapt = (prompt: ChatPrompt, error: unknown) => withoutRejectedSchema(loop, prompt, error);
  const input = { input: prepared.input, candidates, adapt };
  const { generation, candidate } = await startFitting(deps, prepared.admission, input, signal);
  loop.emitter.resultShare = candidate.resultShare;
  return { plan, generation };
}

/**
 * The prompt, after an engine has rejected the schema of an MCP tool, with one that allows any arguments in its place.
 * Null for another error: schemas of servers are not the caller's to correct.
 */
function withoutRejectedSchema(loop: TurnLoop, prompt: ChatPrompt, error: unknown): ChatPrompt | null {
  const { tools } = prompt;
  const field = error instanceof ApiError && error.status === 400 ? /^tools\.(\d+)\./.exec(error.param ?? '') : null;
  const index = Number(field?.[1] ?? -1);
  const rejected = tools[index];
  if (rejected === undefined || rejected.function.parameters === ANY_ARGUMENTS) return null;
  if (!loopTools(loop).has(rejected.function.name)) return null;
  const accepted = { ...rejected, function: { ...rejected.function, parameters: ANY_ARGUMENTS } };
  return { ...prompt, tools: tools.with(index, accepted) };
}

/** Runs turns until the loop ends. Yields the events of the output items; returns how the response ended. */
export async function* runTurns(loop: TurnLoop): AsyncGenerator<ResponseEvent, Outcome, undefined> {
  yield* listMcpTools(loop);
  requireChosenTool(loop);
  yield* runApprovedCalls(loop);
  for (;;) {
    const turn = await startTurn(loop);
    const { reason, searches, mcpCalls, functionCalls } = yield* relayTurn(loop, turn.generation);
    loop.hasCompletedTurn = true;
    yield* runSearches(loop, searches);
    yield* runMcpCalls(loop, mcpCalls, turn.plan.toolChoice === 'none');
    const end = { reason, searches: searches.length + mcpCalls.length, functionCalls };
    const outcome = endOfTurn(loop.prepared.rules, loopState(loop), turn.plan, end);
    if (outcome !== null) return outcome;
  }
}

function loopState(loop: TurnLoop): LoopState {
  const { emitter } = loop;
  const queries = emitter.output.flatMap((item) => (item.type === 'file_search_call' ? item.queries : []));
  const mcpCalls = emitter.output.filter(({ type }) => type === 'mcp_call').length;
  return { turns: emitter.progress.turn_count, queries, mcpCalls, hasMcpTools: loopTools(loop).size > 0 };
}

/** Relays the events of one model call to the emitter. Settles the call, and counts its usage, however it ends. */
async function* relayTurn(
  loop: TurnLoop,
  generation: Generation,
): AsyncGenerator<ResponseEvent, RelayedTurn, undefined> {
  const { deps, emitter, prepared, notices } = loop;
  const calls = new TurnCalls(emitter, {
    hasSearch: prepared.search !== null,
    hasTables: prepared.search?.queriesTables === true,
    mcpTools: loopTools(loop),
    isEager: !prepared.shell.background,
  });
  const itemsBefore = emitter.output.length;
  let reason: FinishReason = 'stop';
  let endsWithCall = false;
  try {
    for await (const event of generation.events) {
      if ('tokens' in event) endsWithCall = event.type === 'tool-call-delta';
      if (event.type === 'text-delta') yield* emitter.text(event.text, event.logprobs);
      else if (event.type === 'reasoning-delta') yield* emitter.reasoning(event.text);
      else if (event.type === 'tool-call-delta') yield* calls.add(event);
      else if (event.type === 'choice-end') reason = event.reason;
    }
  } finally {
    notices.push(...generation.notices());
    const counts = addTurn(emitter.progress, generation, calls.count);
    emitter.progress = { ...counts, ...viewNotices(notices) };
  }
  if (emitter.output.length === itemsBefore && calls.count === 0) yield* emitter.text('');
  const isCut = (reason === 'length' || reason === 'content_filter') && !endsWithCall;
  yield* emitter.endText(isCut ? 'incomplete' : 'completed', calls.count === 0 ? 'final_answer' : 'commentary');
  yield* calls.end(reason);
  const { searches, mcpCalls } = calls;
  const functionCalls = calls.count - searches.length - mcpCalls.length;
  responseMetrics(deps.metrics).turnEnded({
    file_search: searches.filter(({ tool }) => tool === FILE_SEARCH).length,
    query_table: searches.filter(({ tool }) => tool === QUERY_TABLE).length,
    mcp: mcpCalls.length,
    function: functionCalls,
  });
  return { reason, searches, mcpCalls, functionCalls };
}

/** Adds a model call that has ended to the progress of its response. */
export function addTurn(progress: ResponseProgress, generation: Generation, calls: number): ResponseProgress {
  const { usage } = progress;
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = generation.usage();
  return {
    turn_count: progress.turn_count + 1,
    tool_call_count: progress.tool_call_count + calls,
    usage: {
      input_tokens: usage.input_tokens + promptTokens,
      input_tokens_details: {
        cached_tokens: usage.input_tokens_details.cached_tokens + cachedTokens,
        cache_write_tokens: 0,
      },
      output_tokens: usage.output_tokens + completionTokens,
      output_tokens_details: { reasoning_tokens: usage.output_tokens_details.reasoning_tokens + reasoningTokens },
      total_tokens: usage.total_tokens + promptTokens + completionTokens,
    },
  };
}

/** Executes the searches of a turn. A search that was made before in this response gives its results again. */
async function* runSearches(
  loop: TurnLoop,
  calls: readonly SearchCall[],
): AsyncGenerator<ResponseEvent, void, undefined> {
  if (calls.length === 0) return;
  const { deps, prepared, emitter, signal } = loop;
  const earlier = emitter.output.filter((item) => item.type === 'file_search_call');
  const question = retrievalQuery(conversationMessages(prepared));
  const promptTokens = estimatePromptTokens({
    messages: allMessages(prepared, emitter.output),
    tools: prepared.functions,
  });
  const outcomes = new Map<SearchCall, Omit<FileSearchItem, 'type' | 'id'>>();
  const executed = calls.slice(0, MAX_SEARCHES_PER_TURN);
  const search = async (call: SearchCall): Promise<void> => {
    if (call.tool === QUERY_TABLE) {
      outcomes.set(call, await runTableQuery(deps, prepared, call.arguments));
      return;
    }
    const query = parseQuery(call.arguments, question);
    const same = earlier.find((item) => item.queries.some((earlierQuery) => isSameQuery(earlierQuery, query)));
    const outcome =
      same ?? (await searchFiles(deps, prepared, { query, promptTokens, share: executed.length, signal }));
    outcomes.set(call, { queries: [query], results: outcome.results, status: outcome.status });
  };
  await forEachConcurrent(executed, MAX_CONCURRENT_SEARCHES, search, signal);
  signal.throwIfAborted();
  for (const call of calls) {
    const skipped = { queries: [parseQuery(call.arguments, question)], results: [], status: 'incomplete' as const };
    yield* emitter.closeSearch(call.index, outcomes.get(call) ?? skipped);
  }
}
