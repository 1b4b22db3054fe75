/** The decisions of the turn loop: what the next model call may do, and what follows from its end. Pure functions. */
import type { FinishReason, ToolChoice } from '../engines/engine.ts';
import type { Outcome } from './emitter.ts';

/** Name under which models see the search. */
export const FILE_SEARCH = 'file_search';

/** Name under which models see queries over tables. */
export const QUERY_TABLE = 'query_table' as const;

/** What a request allows. */
export interface LoopRules {
  maxTurns: number;
  /** Searches and calls of MCP tools at most; null: no limit. */
  maxSearches: number | null;
  toolChoice: ToolChoice;
  hasSearch: boolean;
  hasFunctions: boolean;
  /** Label of the MCP server whose tool the first model call must use; null: any tool. */
  chosenServer?: string | null;
  /**
   * The model is too small to decide when to search, so that it is made to call a tool first, and to answer then. Only
   * with a search, and after a message of the user.
   */
  searchesFirst: boolean;
}

/** What has happened so far. */
export interface LoopState {
  /** Model calls. */
  turns: number;
  /** Queries of all searches, in order. */
  queries: readonly string[];
  /** Calls of MCP tools. */
  mcpCalls?: number;
  /** Whether MCP servers offer tools. */
  hasMcpTools?: boolean;
}

/** The tools of the next model call. */
export interface TurnPlan {
  offersSearch: boolean;
  offersFunctions: boolean;
  /** Offers only the tools of this MCP server; absent: the tools of all servers. */
  onlyServer?: string;
  toolChoice: ToolChoice;
}

/** The end of a model call. */
export interface TurnEnd {
  reason: FinishReason;
  /** Calls in this turn that the service has made. */
  searches: number;
  /** Calls that the client makes or approves. */
  functionCalls: number;
}

/** Plans the next model call. The tool choice of the request applies to the first call only, or no loop would end. */
export function planTurn(rules: LoopRules, state: LoopState): TurnPlan {
  const { hasSearch, hasFunctions, toolChoice, chosenServer = null } = rules;
  const plan: TurnPlan = {
    offersSearch: hasSearch,
    offersFunctions: hasFunctions,
    toolChoice: 'none',
  };
  if (!hasSearch && !hasFunctions && !state.hasMcpTools) return plan;
  if (state.turns === 0 && chosenServer !== null)
    return { offersSearch: false, offersFunctions: false, onlyServer: chosenServer, toolChoice: 'required' };
  if (state.turns === 0) return mustCall(rules) ? forceCall(rules) : { ...plan, toolChoice };
  const isLast = state.turns + 1 >= rules.maxTurns;
  // Functions may be called in the last turn, because they end the response.
  return mustAnswer(rules, state) || (isLast && !hasFunctions) ? plan : { ...plan, toolChoice: 'auto' };
}

/** Whether a small model must search first. Its caller may forbid tools, or name a function. */
function mustCall({ toolChoice, searchesFirst }: LoopRules): boolean {
  if (typeof toolChoice === 'object') return searchesFirst && toolChoice.name === FILE_SEARCH;
  return searchesFirst && toolChoice !== 'none';
}

/** Beside functions, the tool that fits the question best is called. */
function forceCall({ hasFunctions, toolChoice }: LoopRules): TurnPlan {
  const mayCallFunction = hasFunctions && typeof toolChoice !== 'object';
  return {
    offersSearch: true,
    offersFunctions: mayCallFunction,
    toolChoice: mayCallFunction ? 'required' : { name: FILE_SEARCH },
  };
}

/** Whether another search cannot help: it was repeated, or the number of searches is used up. */
function mustAnswer({ maxSearches, searchesFirst }: LoopRules, { queries, mcpCalls = 0 }: LoopState): boolean {
  if (searchesFirst) return true;
  return repeats(queries) || (maxSearches !== null && queries.length + mcpCalls >= maxSearches);
}

/** Whether the last query has been searched for before. */
function repeats(queries: readonly string[]): boolean {
  const last = queries.at(-1);
  return last !== undefined && queries.slice(0, -1).some((query) => isSameQuery(query, last));
}

/** Whether two queries differ only in letter case and white space. */
export function isSameQuery(a: string, b: string): boolean {
  return normalize(a) === normalize(b);
}

const normalize = (query: string): string => query.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();

/**
 * Decides what follows from the end of a model call, after its searches have run: null for another call. Function calls
 * end the response, because the client executes them. `state` includes the call that ended, `plan` is what it was
 * allowed.
 */
export function endOfTurn(rules: LoopRules, state: LoopState, plan: TurnPlan, end: TurnEnd): Outcome | null {
  if (end.reason === 'content_filter') return { status: 'incomplete', reason: 'content_filter' };
  if (end.reason === 'length' && end.searches === 0) return { status: 'incomplete', reason: 'max_output_tokens' };
  if (end.functionCalls > 0 || end.searches === 0) return { status: 'completed' };
  if (state.turns >= rules.maxTurns) return { status: 'incomplete', reason: 'max_turns' };
  // The model was told to answer, and searched again.
  if (plan.toolChoice !== 'none') return null;
  const isOverLimit = rules.maxSearches !== null && state.queries.length + (state.mcpCalls ?? 0) > rules.maxSearches;
  return { status: 'incomplete', reason: isOverLimit ? 'max_tool_calls' : 'repeated_search' };
}
