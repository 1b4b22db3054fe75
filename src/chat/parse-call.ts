import type { Deps } from '../deps.ts';
import type { ChatPrompt, FunctionTool, OutputFormat, ToolChoice } from '../engines/engine.ts';
import { invalidValue, missingField } from '../errors.ts';
import { type Admission, admit } from '../inference/admission.ts';
import { requirePromptFits } from '../inference/fit-prompt.ts';
import type { GenerationInput } from '../inference/generate.ts';
import { type ImageRules, parseImage } from '../inference/image-parts.ts';
import { parseMessage, type ReadPart, type RequestMessage } from '../inference/messages.ts';
import { chatParameters, rejectFields, samplingParameters, stopSequences } from '../inference/parameters.ts';
import type { Retrieval } from '../knowledge-bases/retrieval/retrieve.ts';
import type { Call } from '../lib/caller.ts';
import { replaceFunctions } from './functions.ts';
import type { ChatCompletion, ChatRequest } from './schema.ts';

type WireMessage = ChatRequest['messages'][number];
type ContentPart = Exclude<NonNullable<WireMessage['content']>, string>[number];

/** A chat completion request, parsed and admitted. No later step reads the body of the request. */
export interface ChatCall {
  readonly admission: Admission<'chat'>;
  readonly input: Readonly<GenerationInput & { prompt: ChatPrompt }>;
  readonly knowledgeBaseIds: readonly string[];
  /** Parameters of the search that replace the parameters of chats. */
  readonly search?: Partial<Retrieval>;
  /** Whether a stream ends with a chunk that has the usage. */
  readonly includesUsage: boolean;
  /** Whether the chunks of a stream are padded. */
  readonly isObfuscated?: boolean;
  /** Whether tools are called in the form of OpenAI's former functions. */
  readonly usesFunctions?: boolean;
  /** Fields of the response that repeat the request. */
  readonly repeated?: Pick<ChatCompletion, 'service_tier' | 'metadata'>;
}

/** OpenAI's fields that change the answer: rejected, not ignored. */
const UNSUPPORTED = {
  web_search_options: null,
} as const;

/** Parses and admits a request. Throws as `admit` does, and 400 with the dotted path. */
export function parseChatCall(deps: Pick<Deps, 'config' | 'models'>, call: Call, body: ChatRequest): ChatCall {
  const admission = admit(deps, call, { kind: 'chat', model: body.model });
  rejectFields(body, UNSUPPORTED);
  const request = replaceFunctions(body);
  const parameters = {
    choices: request.n ?? 1,
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    stop: stopSequences(request),
    sampling: samplingParameters(request),
    format: parseOutputFormat(request.response_format),
    logprobs: parseLogprobs(request),
    promptLogprobs: false,
    upstreamParameters: chatParameters(deps, request),
    incremental: request.stream ?? false,
  };
  const prompt = parsePrompt(request, { model: admission.model, allowPrivateHosts: deps.config.allowPrivateHosts });
  requirePromptFits(admission.model, prompt);
  return {
    admission,
    input: { ...parameters, prompt },
    knowledgeBaseIds: request.knowledge_bases ?? [],
    includesUsage: request.stream_options?.include_usage === true,
    isObfuscated: request.stream_options?.include_obfuscation === true,
    usesFunctions: body.functions !== undefined,
    repeated: {
      ...(request.service_tier !== undefined && { service_tier: 'default' }),
      ...(request.metadata !== undefined && { metadata: request.metadata }),
    },
  };
}

function parsePrompt(request: ChatRequest, images: ImageRules): ChatPrompt {
  const tools = allowedTools(request, parseFunctionTools(request));
  const readPart = chatPartReader(images);
  return {
    kind: 'chat',
    messages: request.messages.map((message, index) =>
      parseMessage(refusalAsContent(message) as RequestMessage<ContentPart>, `messages.${index}`, readPart),
    ),
    tools,
    toolChoice: parseToolChoice(request, tools),
    parallelToolCalls: request.parallel_tool_calls ?? true,
  };
}

function chatPartReader(images: ImageRules): ReadPart<ContentPart> {
  return (part, role, path) => {
    if (part.type === 'image_url')
      return parseImage({ ...part.image_url, role }, { path, urlPath: `${path}.image_url.url` }, images);
    const isRefusal = part.type === 'refusal' && role === 'assistant';
    if (part.type !== 'text' && !isRefusal)
      throw invalidValue(path, `must be a text part; '${part.type.slice(0, 40)}' is not supported`);
    const field = isRefusal ? 'refusal' : 'text';
    const text = part[field];
    if (text === undefined) throw missingField(`${path}.${field}`);
    return text;
  };
}

/** An answer that is sent back may be a refusal. */
function refusalAsContent(message: WireMessage): WireMessage {
  const { role, content, refusal } = message;
  return role === 'assistant' && content == null && refusal !== undefined ? { ...message, content: refusal } : message;
}

/** Returns the tools of a request. Throws 400 for a name that occurs twice. */
export function parseFunctionTools({ tools = [] }: Pick<ChatRequest, 'tools'>): FunctionTool[] {
  tools.forEach((tool, index) => {
    const first = tools.findIndex((other) => other.function.name === tool.function.name);
    if (first !== index) throw invalidValue(`tools.${index}.function.name`, `is already the name of tools.${first}`);
  });
  return tools as FunctionTool[];
}

/** The tools that `tool_choice` leaves to the model. */
function allowedTools({ tool_choice: choice }: ChatRequest, tools: FunctionTool[]): FunctionTool[] {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return tools;
  const allowed = choice.allowed_tools.tools.map(({ function: { name } }) => name);
  for (const [index, name] of allowed.entries())
    requireTool(tools, name, `tool_choice.allowed_tools.tools.${index}.function.name`);
  return tools.filter((tool) => allowed.includes(tool.function.name));
}

function parseToolChoice(request: ChatRequest, tools: readonly FunctionTool[]): ToolChoice {
  const choice = request.tool_choice ?? (tools.length > 0 ? 'auto' : 'none');
  if (choice === 'none' || choice === 'auto') return tools.length > 0 ? choice : 'none';
  if (tools.length === 0) throw invalidValue('tool_choice', "needs 'tools' to choose from");
  if (choice === 'required') return choice;
  if (choice.type === 'allowed_tools') return choice.allowed_tools.mode;
  const { name } = choice.function;
  requireTool(tools, name, 'tool_choice.function.name');
  return { name };
}

function requireTool(tools: readonly FunctionTool[], name: string, path: string): void {
  if (!tools.some((tool) => tool.function.name === name))
    throw invalidValue(path, "must be the name of one of 'tools'");
}

/** Returns the format of a schema beside `json_object`, which has no name. */
export function namedSchema(schema: Record<string, unknown>): Extract<OutputFormat, { type: 'json_schema' }> {
  return { type: 'json_schema', name: 'response', strict: true, schema };
}

/** Returns the requested output format. Throws 400 `missing_required_field` when `json_schema` has no schema. */
export function parseOutputFormat(format: ChatRequest['response_format']): OutputFormat {
  if (format === undefined || format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object') {
    // Servers built on llama.cpp accept a schema here.
    if (format.schema === undefined) return { type: 'json_object' };
    return { ...namedSchema(format.schema), path: 'response_format.schema' };
  }
  if (format.json_schema === undefined) throw missingField('response_format.json_schema');
  const { name, strict, schema } = format.json_schema;
  if (schema === undefined) throw missingField('response_format.json_schema.schema');
  return { type: 'json_schema', name, strict: strict ?? false, schema };
}

/** Returns the number of alternatives per token; null without log probabilities. */
function parseLogprobs({ logprobs, top_logprobs: alternatives }: ChatRequest): number | null {
  if (logprobs) return alternatives ?? 0;
  if (alternatives !== undefined) throw invalidValue('top_logprobs', "needs 'logprobs' to be true");
  return null;
}
