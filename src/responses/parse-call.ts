import { namedSchema } from '../chat/parse-call.ts';
import type { Deps } from '../deps.ts';
import type { ChatPrompt, FunctionTool, GenerationFeatures, OutputFormat } from '../engines/engine.ts';
import { countImages } from '../engines/prompt-images.ts';
import { ApiError, invalidValue, missingField } from '../errors.ts';
import { type Admission, admit } from '../inference/admission.ts';
import { requirePromptFits } from '../inference/fit-prompt.ts';
import type { GenerationInput } from '../inference/generate.ts';
import { imagesUnsupported } from '../inference/image-parts.ts';
import { samplingParameters, upstreamParameters } from '../inference/parameters.ts';
import { findKnowledgeBases } from '../knowledge-bases/grounding/ground-prompt.ts';
import { checkMetadata } from '../knowledge-bases/metadata.ts';
import type { RetrievalDeps } from '../knowledge-bases/retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { findRegisteredServer, type RegisteredServer } from '../mcp-servers/find-registered.ts';
import { openCompaction } from './compaction.ts';
import { type ConversationItem, toMessages } from './conversation.ts';
import type { ResponseShell } from './emitter.ts';
import { openConversation, requireNewItems } from './manage-conversations.ts';
import { approvedCalls } from './mcp-tools.ts';
import { parseInput } from './parse-input.ts';
import type { McpServerTool } from './parse-mcp-tool.ts';
import { MAX_SERVERS, type ParsedTools, parseTools, type SearchTool } from './parse-tools.ts';
import { continueConversation, findStoredItem } from './previous-response.ts';
import { LOGPROBS, rejectUnsupported, toRequestError } from './request-fields.ts';
import type { CreateResponse } from './schema.ts';
import type { LoopRules } from './turn-loop.ts';

/** Dependencies of responses. */
export type ResponseDeps = Pick<Deps, 'config' | 'countPrompt' | 'recordsContents' | 'screen' | 'secrets'> &
  RetrievalDeps;

/** Default of `max_turns`. */
const DEFAULT_MAX_TURNS = 10;
/** A model with fewer parameters does not decide reliably when to search. Those of 1.5 billion do. */
const SMALL_MODEL_PARAMETERS = 1_000_000_000;

/** A request for a response, parsed and admitted, with all that its turn loop needs: nothing later reads the body. */
export interface ResponseCall {
  readonly admission: Admission<'chat'>;
  /** Parameters of every model call, with the messages of the conversation; each call gets a prompt of its own. */
  readonly input: Readonly<GenerationInput & { prompt: ChatPrompt }>;
  readonly instructions: string | null;
  /** The conversation before the output. */
  readonly conversation: ConversationItem[];
  /** Items of it from before the request. */
  readonly earlierItems: number;
  readonly functions: readonly FunctionTool[];
  /** Path of each function in the request, for errors of engines. */
  readonly functionPaths: readonly string[];
  readonly mcpServers: readonly McpServerTool[];
  readonly search: (SearchTool & { bases: readonly KnowledgeBaseRow[] }) | null;
  /** Whether the engine selects from the results of searches itself, however many there are. */
  readonly selectsDocuments: boolean;
  readonly parallelToolCalls: boolean;
  /** Whether the oldest messages are left out of prompts that are longer than the context. */
  readonly truncates: boolean;
  readonly rules: LoopRules;
  readonly shell: ResponseShell;
}

/** Identity of a response. */
export interface ResponseIdentity {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  /** The conversation at the time of the request, for a background response; absent: parsed from the request. */
  conversation?: ConversationItem[];
  /** The conversation that `previous_response_id` continues; absent or null: read from the stored response. */
  earlier?: readonly ConversationItem[] | null;
}

/**
 * Parses and admits a request. Throws 400 naming the field, 403, 404 (model or knowledge base), 503 without an engine.
 */
export async function parseResponseCall(
  deps: ResponseDeps,
  call: Call,
  request: CreateResponse,
  identity: ResponseIdentity,
): Promise<ResponseCall> {
  const admission = admit(deps, call, { kind: 'chat', model: request.model });
  rejectUnsupported(request);
  const tools = parseTools(request, await findServers(deps, call, request));
  const parameters = generationParameters(deps, request);
  if (request.metadata != null) checkMetadata(request.metadata, 'metadata');
  if (request.background === true && request.store === false)
    throw invalidValue('background', "needs 'store', because its result is retrieved later");
  const search = await openSearch(deps, call, tools.search);
  const { conversation, earlierItems } =
    identity.conversation === undefined
      ? await parseConversation(deps, call, { request, identity, admission })
      : { conversation: identity.conversation, earlierItems: 0 };
  requireApprovedServers(tools, conversation);
  const messages = toMessages(conversation, (text) => text);
  const prompt: ChatPrompt = { kind: 'chat', messages, tools: [], toolChoice: 'none', parallelToolCalls: true };
  // Of a response that another model has answered, or of one from before the model was bound to another engine.
  if (countImages(messages) > 0 && !admission.model.capabilities.vision)
    throw imagesUnsupported(imageParam(request), request.model);
  const truncates = request.truncation === 'auto';
  if (!truncates) requireFits(admission, prompt);
  return {
    admission,
    input: { ...parameters, prompt },
    instructions: request.instructions ?? null,
    conversation,
    earlierItems,
    functions: tools.functions,
    functionPaths: tools.functionPaths,
    mcpServers: tools.mcpServers,
    search,
    selectsDocuments: search !== null && selectsDocuments(admission, prompt, parameters.format),
    parallelToolCalls: request.parallel_tool_calls ?? true,
    truncates,
    rules: loopRules(request, tools, admission, messages.at(-1)?.role === 'user'),
    shell: createShell(request, tools, identity, admission.engine.features()),
  };
}

async function parseConversation(
  deps: ResponseDeps,
  call: Call,
  {
    request,
    identity,
    admission,
  }: { request: CreateResponse; identity: ResponseIdentity; admission: Admission<'chat'> },
): Promise<Pick<ResponseCall, 'conversation' | 'earlierItems'>> {
  const { model } = admission;
  const conversationId = readConversationId(request);
  if (conversationId !== null && request.previous_response_id != null)
    throw invalidValue('conversation', "must not be combined with 'previous_response_id'");
  const earlier =
    conversationId === null
      ? (identity.earlier ?? (await continueConversation(deps, call, request.previous_response_id ?? null)))
      : await openConversation(deps, call, conversationId);
  const stored = {
    findItem: (id: string) => findStoredItem(deps, call, id),
    openCompaction: (content: string) => openCompaction(deps, call, content),
    images: { model, allowPrivateHosts: deps.config.allowPrivateHosts },
  };
  const added = await parseInput(request.input, earlier, stored);
  if (conversationId !== null) requireNewItems(added, earlier, 'input');
  return { conversation: [...earlier, ...added], earlierItems: earlier.length };
}

/** The field whose messages may have the images of a conversation. */
function imageParam(request: CreateResponse): string {
  if (request.previous_response_id != null) return 'previous_response_id';
  return request.conversation == null ? 'input' : 'conversation';
}

function readConversationId({ conversation }: CreateResponse): string | null {
  if (conversation == null) return null;
  return typeof conversation === 'string' ? conversation : conversation.id;
}

/** Finds the registered servers that tools name, by the position of the tool. Throws 404 `mcp_server_not_found`. */
async function findServers(
  deps: ResponseDeps,
  call: Call,
  { tools }: CreateResponse,
): Promise<Map<number, RegisteredServer>> {
  const servers = new Map<number, RegisteredServer>();
  for (const [index, { type, server_url: url, server_label: label, connector_id: id }] of (tools ?? []).entries()) {
    if (type !== 'mcp' || (id === undefined && (url !== undefined || label === undefined))) continue;
    const path = `tools.${index}`;
    if (id !== undefined && url !== undefined)
      throw invalidValue(`${path}.connector_id`, "cannot be combined with 'server_url'");
    if (servers.size === MAX_SERVERS) throw invalidValue(path, `exceeds the limit of ${MAX_SERVERS} MCP servers`);
    const key = id === undefined ? { label: label ?? '' } : { id };
    const param = `${path}.${id === undefined ? 'server_label' : 'connector_id'}`;
    servers.set(index, await findRegisteredServer(deps, call, key, param));
  }
  return servers;
}

/** Throws 400 when a call is approved whose server is not among the tools. */
function requireApprovedServers({ mcpServers }: ParsedTools, conversation: readonly ConversationItem[]): void {
  const missing = approvedCalls(conversation, []).find(
    ({ serverLabel }) => !mcpServers.some(({ label }) => label === serverLabel),
  );
  if (missing !== undefined)
    throw invalidValue('tools', `must have the MCP server '${missing.serverLabel}', of which a call is approved`);
}

async function openSearch(deps: ResponseDeps, call: Call, search: SearchTool | null): Promise<ResponseCall['search']> {
  if (search === null) return null;
  const bases = await findKnowledgeBases(deps, call, search.knowledgeBaseIds, search.paths.ids);
  // Fails now, not in the middle of a response.
  if (search.rerank || search.rerankModel !== null) {
    admit(deps, call, {
      kind: 'rerank',
      model: search.rerankModel ?? undefined,
      param: search.paths.rerankModel,
    });
  }
  return { ...search, bases };
}

function requireFits(admission: Admission<'chat'>, prompt: ChatPrompt): void {
  try {
    requirePromptFits(admission.model, prompt);
  } catch (error) {
    throw error instanceof ApiError ? toRequestError(error, []) : error;
  }
}

function generationParameters(deps: Pick<Deps, 'config'>, request: CreateResponse): Omit<GenerationInput, 'prompt'> {
  return {
    choices: 1,
    maxTokens: request.max_output_tokens ?? null,
    stop: [],
    sampling: samplingParameters(request),
    format: parseFormat(request),
    logprobs: parseLogprobs(request),
    promptLogprobs: false,
    upstreamParameters: upstreamParameters(deps, request, {
      reasoning_effort: request.reasoning?.effort,
      verbosity: request.text?.verbosity,
      chat_template_kwargs: request.chat_template_kwargs,
    }),
    incremental: request.stream ?? false,
  };
}

/** Returns the number of alternatives per token; null without log probabilities. */
function parseLogprobs({ include, top_logprobs: alternatives }: CreateResponse): number | null {
  const isIncluded = include?.includes(LOGPROBS) ?? false;
  return isIncluded || (alternatives ?? 0) > 0 ? (alternatives ?? 0) : null;
}

function parseFormat({ text }: CreateResponse): OutputFormat {
  const format = text?.format ?? { type: 'text' as const };
  if (format.type === 'json_object' && format.schema !== undefined) return namedSchema(format.schema);
  if (format.type !== 'json_schema') return { type: format.type };
  if (format.name === undefined) throw missingField('text.format.name');
  if (format.schema === undefined) throw missingField('text.format.schema');
  return { type: 'json_schema', name: format.name, strict: format.strict ?? false, schema: format.schema };
}

function selectsDocuments({ engine }: Admission<'chat'>, prompt: ChatPrompt, format: OutputFormat): boolean {
  return engine.features().documentMode?.(prompt, format) === 'selective';
}

function loopRules(
  request: CreateResponse,
  tools: ParsedTools,
  { engine }: Admission<'chat'>,
  endsWithUser: boolean,
): LoopRules {
  const { parameters } = engine.backend();
  const isSmall = parameters !== null && parameters < SMALL_MODEL_PARAMETERS;
  return {
    maxTurns: request.max_turns ?? DEFAULT_MAX_TURNS,
    maxSearches: request.max_tool_calls ?? null,
    toolChoice: tools.toolChoice,
    hasSearch: tools.search !== null,
    hasFunctions: tools.functions.length > 0,
    chosenServer: tools.chosenServer,
    searchesFirst: isSmall && endsWithUser && tools.search !== null,
  };
}

function createShell(
  request: CreateResponse,
  tools: ParsedTools,
  { id, createdAt }: ResponseIdentity,
  features: GenerationFeatures,
): ResponseShell {
  const conversationId = readConversationId(request);
  return {
    id,
    object: 'response',
    created_at: createdAt,
    model: request.model,
    previous_response_id: request.previous_response_id ?? null,
    conversation: conversationId === null ? null : { id: conversationId },
    instructions: request.instructions ?? null,
    prompt: request.prompt ?? null,
    tools: tools.resolved,
    tool_choice: request.tool_choice ?? 'auto',
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    max_turns: request.max_turns ?? DEFAULT_MAX_TURNS,
    max_tool_calls: request.max_tool_calls ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    temperature: request.temperature ?? features.defaultTemperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    text: {
      format: request.text?.format ?? { type: 'text' },
      ...(request.text?.verbosity != null && { verbosity: request.text.verbosity }),
    },
    reasoning: {
      effort: request.reasoning?.effort ?? null,
      summary: request.reasoning?.summary ?? request.reasoning?.generate_summary ?? null,
      generate_summary: null,
      mode: 'standard',
      context: 'current_turn',
    },
    truncation: request.truncation ?? 'disabled',
    store: request.store ?? true,
    background: request.background ?? false,
    service_tier: 'default',
    metadata: request.metadata ?? null,
    user: request.user ?? null,
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: null,
  };
}
