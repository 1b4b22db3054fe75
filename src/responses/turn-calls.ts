import type { FinishReason, GenerationEvent, ToolCall } from '../engines/engine.ts';
import { parseJson } from '../lib/json.ts';
import type { ResponseEmitter } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import type { OfferedTool } from './mcp-tools.ts';
import { needsApproval } from './parse-mcp-tool.ts';
import { FILE_SEARCH, QUERY_TABLE } from './turn-loop.ts';

/** A search that a model has called for. */
export interface SearchCall {
  /** Position of its item in `output`. */
  index: number;
  arguments: string;
  tool: typeof FILE_SEARCH | typeof QUERY_TABLE;
}

/** A call of a tool of an MCP server. */
export interface McpCall extends OfferedTool {
  arguments: string;
}

/** A part of a tool call. */
type CallDelta = Extract<GenerationEvent, { type: 'tool-call-delta' }>;

/** What `TurnCalls` needs to know of the response. */
export interface CallSettings {
  hasSearch: boolean;
  hasTables: boolean;
  /** Tools of MCP servers by their names. */
  mcpTools: ReadonlyMap<string, OfferedTool>;
  /**
   * Whether a call is emitted as soon as it is complete. False for a response that is resumed after a crash: its turn
   * is repeated, and the client would get the call twice.
   */
  isEager: boolean;
}

/**
 * Collects the tool calls of one model call, and emits them in their order: functions with their arguments, and
 * searches as open items. A call is complete when a later one has begun and its arguments are a JSON object: some
 * servers send the parts of parallel calls in turns.
 */
export class TurnCalls {
  /** Searches that have been emitted. */
  readonly searches: SearchCall[] = [];
  /** Complete calls of MCP tools that need no approval. */
  readonly mcpCalls: McpCall[] = [];
  readonly #emitter: ResponseEmitter;
  readonly #settings: CallSettings;
  /** By index. Upstream servers may leave out indexes. */
  readonly #calls: ToolCall[] = [];
  #emitted = 0;

  constructor(emitter: ResponseEmitter, settings: CallSettings) {
    this.#emitter = emitter;
    this.#settings = settings;
  }

  /** Number of calls so far. */
  get count(): number {
    return this.#calls.filter((call) => call !== undefined).length;
  }

  /** Adds a part of a call. Yields the events of the calls before it that are complete. */
  *add({ index, id = '', name = '', arguments: text }: CallDelta): Generator<ResponseEvent, void, undefined> {
    const call = this.#calls[index] ?? { id, type: 'function' as const, function: { name, arguments: '' } };
    this.#calls[index] = call;
    call.function.arguments += text;
    if (!this.#settings.isEager) return;
    for (let next = this.#calls[this.#emitted]; this.#emitted < index; next = this.#calls[this.#emitted]) {
      if (next === undefined || !isJsonObject(next.function.arguments)) return;
      this.#emitted += 1;
      yield* this.#emit(next, 'completed');
    }
  }

  /** Yields the events of all other calls. A function call that a limit or a filter has cut is `incomplete`. */
  *end(reason: FinishReason): Generator<ResponseEvent, void, undefined> {
    // `filter` drops the indexes that were left out.
    const others = this.#calls.slice(this.#emitted).filter((call) => call !== undefined);
    this.#emitted = this.#calls.length;
    for (const call of others) {
      const isCut = (reason === 'length' || reason === 'content_filter') && !isJson(call.function.arguments);
      yield* this.#emit(call, isCut ? 'incomplete' : 'completed');
    }
  }

  *#emit({ id, function: called }: ToolCall, status: 'completed' | 'incomplete'): Generator<ResponseEvent> {
    const offered = this.#settings.mcpTools.get(called.name);
    if (offered !== undefined) {
      const { server, tool } = offered;
      if (status === 'incomplete' || !needsApproval(server, tool)) {
        this.mcpCalls.push({ ...offered, arguments: called.arguments });
        return;
      }
      yield* this.#emitter.approvalRequest({
        server_label: server.label,
        name: tool.name,
        arguments: called.arguments,
      });
      return;
    }
    const isQuery = this.#settings.hasTables && called.name === QUERY_TABLE;
    if (!isQuery && !(this.#settings.hasSearch && called.name === FILE_SEARCH)) {
      yield* this.#emitter.functionCall({ call_id: id, ...called, status });
      return;
    }
    const { index, events } = this.#emitter.openSearch(isQuery ? QUERY_TABLE : undefined);
    this.searches.push({ index, arguments: called.arguments, tool: isQuery ? QUERY_TABLE : FILE_SEARCH });
    yield* events;
  }
}

const isJson = (text: string): boolean => parseJson(text) !== undefined;

const isJsonObject = (text: string): boolean => text.trimEnd().endsWith('}') && isJson(text);
