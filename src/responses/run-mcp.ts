import { modelContextTokens } from '../engines/registry.ts';
import { ApiError, invalidValue } from '../errors.ts';
import { documentBudget } from '../knowledge-bases/grounding/document-budget.ts';
import { estimatePromptTokens } from '../knowledge-bases/grounding/token-estimate.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import { newId } from '../lib/ids.ts';
import { isRecord, parseJson } from '../lib/json.ts';
import type { ModerationNotice } from '../lib/screen.ts';
import type { McpConnections } from '../mcp-servers/mcp-connections.ts';
import { type McpCallError, McpFailure } from '../mcp-servers/mcp-error.ts';
import { renderToolResult } from '../mcp-servers/tool-result.ts';
import type { ResponseEmitter } from './emitter.ts';
import type { ResponseEvent } from './event-schema.ts';
import type { McpCallItem, McpListToolsItem } from './item-schema.ts';
import { mcpFunctionName } from './mcp-function-name.ts';
import { approvedCalls, findList, type OfferedTool, offeredTools } from './mcp-tools.ts';
import type { ResponseDeps } from './parse-call.ts';
import { isAllowed, type McpServerTool } from './parse-mcp-tool.ts';
import type { PreparedResponse } from './prepare-response.ts';
import type { McpCall } from './turn-calls.ts';
import { allMessages } from './turn-prompt.ts';

/** Requests to servers that run at the same time in one response. */
const MAX_CONCURRENT = 4;
/** Tools of one server: definitions are part of every prompt. */
const MAX_TOOLS = 128;
/** Characters of all definitions of one server as JSON. */
const MAX_LIST_CHARACTERS = 262_144;
/** Characters of a result, if the context of the model has room for them. */
const MAX_RESULT_CHARACTERS = 100_000;
/** Characters of a result for which the context has no room. */
const MIN_RESULT_CHARACTERS = 1_000;
/** Lower estimate of the characters of a token. */
const CHARACTERS_PER_TOKEN = 3;
/** Calls of one turn that are made. */
const MAX_CALLS_PER_TURN = 16;

/** The part of a turn loop that calls MCP tools. */
export interface McpLoop {
  deps: ResponseDeps;
  prepared: PreparedResponse;
  emitter: ResponseEmitter;
  mcp: McpConnections;
  signal: AbortSignal;
  /** What guardrail policies have said so far. */
  notices: (ModerationNotice | null)[];
}

/** The tools that the servers of a response offer at this time. */
export function loopTools({ prepared, emitter }: Pick<McpLoop, 'prepared' | 'emitter'>): Map<string, OfferedTool> {
  return offeredTools({ ...prepared, servers: prepared.mcpServers }, emitter.output);
}

/** Lists the tools of the servers that the conversation has no list of. A server that fails offers no tools. */
export async function* listMcpTools(loop: McpLoop): AsyncGenerator<ResponseEvent, void, undefined> {
  const { prepared, emitter, signal } = loop;
  const servers = prepared.mcpServers.filter((server) => findList(server, prepared, emitter.output) === null);
  const lists: { server: McpServerTool; index: number; outcome: Pick<McpListToolsItem, 'tools' | 'error'> }[] = [];
  for (const server of servers) {
    const { index, events } = emitter.openItem({
      type: 'mcp_list_tools',
      id: newId('mcpList'),
      server_label: server.label,
      tools: [],
      error: null,
    });
    lists.push({ server, index, outcome: { tools: [], error: null } });
    yield* events;
    yield emitter.itemEvent(index, { type: 'response.mcp_list_tools.in_progress' });
  }
  await forEachConcurrent(
    lists,
    MAX_CONCURRENT,
    async (list) => {
      list.outcome = await listTools(loop, list.server);
    },
    signal,
  );
  signal.throwIfAborted();
  for (const { index, outcome } of lists) {
    const end = outcome.error === null ? 'completed' : 'failed';
    yield emitter.itemEvent(index, { type: `response.mcp_list_tools.${end}` });
    yield* emitter.closeItem(index, outcome);
  }
}

async function listTools(
  { mcp, deps, signal }: McpLoop,
  server: McpServerTool,
): Promise<Pick<McpListToolsItem, 'tools' | 'error'>> {
  try {
    const listed = await (await mcp.connection(server.address)).listTools(signal);
    const tools = listed.filter((tool) => isAllowed(server.allowedTools, tool));
    if (tools.length > MAX_TOOLS || JSON.stringify(tools).length > MAX_LIST_CHARACTERS) {
      const error = `The server has ${tools.length} tools. At most ${MAX_TOOLS} with definitions of ${MAX_LIST_CHARACTERS} characters can be used: select them by 'allowed_tools'.`;
      return { tools: [], error };
    }
    return { tools, error: null };
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    const { type, code, message } = error.error;
    deps.logger.warn({ server: serverName(server), type, code }, 'tools of an MCP server could not be listed');
    return { tools: [], error: message };
  }
}

/** Host or id of a server, for logs. */
const serverName = ({ resolved }: McpServerTool): string | undefined => resolved.server_url ?? resolved.connector_id;

/** Throws 400 when the request makes the model call a tool that no server offers. */
export function requireChosenTool(loop: McpLoop): void {
  const { toolChoice, chosenServer = null } = loop.prepared.rules;
  const { tool_choice: choice } = loop.prepared.shell;
  const tools = loopTools(loop);
  if (chosenServer !== null && ![...tools.values()].some(({ server }) => server.label === chosenServer))
    throw invalidValue('tool_choice.server_label', 'names a server that offers no tools');
  const isMcp = typeof choice === 'object' && choice['type'] === 'mcp';
  if (isMcp && typeof toolChoice === 'object' && !tools.has(toolChoice.name))
    throw invalidValue('tool_choice.name', 'names no tool that the server offers');
}

/** Makes the calls that the user has approved. */
export async function* runApprovedCalls(loop: McpLoop): AsyncGenerator<ResponseEvent, void, undefined> {
  const { prepared, emitter } = loop;
  const tools = loopTools(loop);
  const calls = approvedCalls(prepared.conversation, emitter.output).map(
    ({ id, serverLabel, name, arguments: args }) => {
      const offered = tools.get(mcpFunctionName(serverLabel, name));
      return { approval: id, label: serverLabel, name, arguments: args, offered: offered ?? null };
    },
  );
  yield* runCalls(loop, calls);
}

/** Makes the calls of a turn. */
export function runMcpCalls(
  loop: McpLoop,
  calls: readonly McpCall[],
  isForbidden: boolean,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const planned = calls.map(({ server, tool, arguments: args }) => ({
    approval: null,
    label: server.label,
    name: tool.name,
    arguments: args,
    offered: isForbidden ? null : { server, tool },
  }));
  return runCalls(loop, planned);
}

/** A call as its item shows it. */
interface PlannedCall {
  /** Id of the request for its approval; null: it needed none. */
  approval: string | null;
  label: string;
  name: string;
  arguments: string;
  /** Null: the tool must not be called. */
  offered: OfferedTool | null;
}

type CallOutcome = Pick<McpCallItem, 'status' | 'output' | 'error'>;

async function* runCalls(loop: McpLoop, calls: readonly PlannedCall[]): AsyncGenerator<ResponseEvent, void, undefined> {
  if (calls.length === 0) return;
  const { prepared, emitter, signal } = loop;
  const callsBefore = emitter.output.filter(({ type }) => type === 'mcp_call' || type === 'file_search_call').length;
  const allowed = Math.min(MAX_CALLS_PER_TURN, (prepared.rules.maxSearches ?? Number.POSITIVE_INFINITY) - callsBefore);
  const maxCharacters = resultCharacters(loop, Math.min(calls.length, MAX_CALLS_PER_TURN));
  const open: { call: PlannedCall; index: number; outcome: CallOutcome }[] = [];
  for (const [position, call] of calls.entries()) {
    const { index, events } = emitter.openItem({
      type: 'mcp_call',
      id: newId('mcpCall'),
      status: 'in_progress',
      ...{ server_label: call.label, name: call.name, arguments: '' },
      ...{ output: null, error: null, approval_request_id: call.approval },
    });
    const isOver = position >= allowed && call.approval === null;
    open.push({ call, index, outcome: toolFailure(isOver ? TOO_MANY_CALLS : NOT_OFFERED) });
    if (isOver) call.offered = null;
    yield* events;
    yield emitter.itemEvent(index, { type: 'response.mcp_call.in_progress' });
    yield emitter.itemEvent(index, { type: 'response.mcp_call_arguments.delta', delta: call.arguments });
    yield emitter.itemEvent(index, { type: 'response.mcp_call_arguments.done', arguments: call.arguments });
  }
  await forEachConcurrent(
    open,
    MAX_CONCURRENT,
    async (one, stopped) => {
      const { offered, arguments: args } = one.call;
      if (offered !== null)
        one.outcome = await callTool({ ...loop, signal: stopped }, { ...offered, arguments: args }, maxCharacters);
    },
    signal,
  );
  signal.throwIfAborted();
  for (const { index, outcome } of open) {
    yield emitter.itemEvent(index, { type: `response.mcp_call.${outcome.error === null ? 'completed' : 'failed'}` });
    yield* emitter.closeItem(index, outcome);
  }
}

/** Characters that each of `share` results may have: what the context of the model leaves for documents. */
function resultCharacters({ prepared, emitter }: McpLoop, share: number): number {
  const conversationTokens = estimatePromptTokens({
    messages: allMessages(prepared, emitter.output),
    tools: prepared.functions,
  });
  const { maxTokens } = prepared.input.value;
  const contextTokens = modelContextTokens(prepared.admission.model);
  const tokens = documentBudget({ contextTokens, conversationTokens, maxTokens }) / share;
  return Math.min(MAX_RESULT_CHARACTERS, Math.max(MIN_RESULT_CHARACTERS, Math.floor(tokens * CHARACTERS_PER_TOKEN)));
}

const NOT_OFFERED = 'The tool is not offered in this response.';
const TOO_MANY_CALLS = 'The call was not made: the number of calls is used up.';
const INVALID_ARGUMENTS = 'The arguments are not a JSON object.';
const BLOCKED_ARGUMENTS = 'The call was not made: a content policy blocks its arguments.';
const BLOCKED_RESULT = 'A content policy blocks the result.';

function toolFailure(content: string): CallOutcome {
  return failed({ type: 'mcp_tool_execution_error', content });
}

const failed = (error: McpCallError): CallOutcome => ({ status: 'failed', output: null, error });

/**
 * Calls a tool, between the content policies for its arguments, which leave the service, and for its result, which the
 * model reads. Throws 503 as the policies do.
 */
async function callTool(loop: McpLoop, call: McpCall, maxCharacters: number): Promise<CallOutcome> {
  const { deps, mcp, prepared, notices, signal } = loop;
  const args = parseJson(call.arguments === '' ? '{}' : call.arguments);
  if (!isRecord(args)) return toolFailure(INVALID_ARGUMENTS);
  const screened = await deps.screen.output(prepared.admission, [call.arguments]);
  notices.push(screened.notice);
  if (screened.replacements[0] !== null) return toolFailure(BLOCKED_ARGUMENTS);
  let text: string;
  let isError: boolean;
  const startedAt = Date.now();
  try {
    const connection = await mcp.connection(call.server.address);
    const result = await connection.callTool(call.tool, args, signal);
    text = renderToolResult(result, maxCharacters);
    isError = result.isError === true;
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    const { type, code } = error.error;
    deps.logger.warn({ server: serverName(call.server), type, code }, 'call of an MCP tool failed');
    return failed(error.error);
  } finally {
    prepared.admission.call.log?.addStep('tool', call.tool.name, startedAt);
  }
  try {
    if (text.trim() !== '') notices.push(await deps.screen.input(prepared.admission, [text]));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'content_filtered') return toolFailure(BLOCKED_RESULT);
    throw error;
  }
  return isError ? toolFailure(text) : { status: 'completed', output: text, error: null };
}
