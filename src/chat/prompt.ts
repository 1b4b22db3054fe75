import type {
  ChatMessage,
  ChatPrompt,
  FunctionTool,
  OutputFormat,
  PromptImage,
  ToolChoice,
} from '../engines/engine.ts';
import { invalidValue, missingField } from '../errors.ts';
import { type ImageRules, parseImage } from '../inference/image-parts.ts';
import type { ChatRequest } from './schema.ts';

type WireMessage = ChatRequest['messages'][number];
type ContentPart = Exclude<NonNullable<WireMessage['content']>, string>[number];

/** Converts the request to the engine's prompt. Throws 400 `invalid_value` or `missing_required_field` with the dotted path. */
export function chatPrompt(request: ChatRequest, images: ImageRules): ChatPrompt {
  const tools = allowedTools(request, parseTools(request));
  return {
    kind: 'chat',
    messages: request.messages.map((message, index) => chatMessage(message, `messages.${index}`, images)),
    tools,
    toolChoice: parseToolChoice(request, tools),
    parallelToolCalls: request.parallel_tool_calls ?? true,
  };
}

function chatMessage(message: WireMessage, path: string, images: ImageRules): ChatMessage {
  // `developer` is OpenAI's newer name of `system`, which chat templates expect.
  const role = message.role === 'developer' ? 'system' : message.role;
  // An answer that is sent back may be a refusal.
  const content = message.content ?? (role === 'assistant' ? message.refusal : null) ?? null;
  const calls = message.tool_calls ?? [];
  if (calls.length > 0 && role !== 'assistant')
    throw invalidValue(`${path}.tool_calls`, 'belongs to assistant messages only');
  if (content === null && calls.length === 0) {
    if (message.content === undefined) throw missingField(`${path}.content`);
    throw invalidValue(`${path}.content`, 'may be null only beside tool_calls');
  }
  if (role === 'tool' && message.tool_call_id === undefined) throw missingField(`${path}.tool_call_id`);
  return {
    role,
    ...joinParts({ content, role }, `${path}.content`, images),
    ...(message.name !== undefined && { name: message.name }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => ({ ...call, type: 'function' as const })) }),
    ...(role === 'tool' && { tool_call_id: message.tool_call_id as string }),
  };
}

/** Joins text parts, with the images between them. Throws 400 `invalid_value` for parts of other types. */
function joinParts(
  { content, role }: { content: string | ContentPart[] | null; role: ChatMessage['role'] },
  path: string,
  rules: ImageRules,
): Pick<ChatMessage, 'content' | 'images'> {
  if (!Array.isArray(content)) return { content };
  let text = '';
  const images: PromptImage[] = [];
  for (const [index, part] of content.entries()) {
    const at = `${path}.${index}`;
    if (part.type === 'image_url') {
      const image = parseImage({ ...part.image_url, role }, { path: at, urlPath: `${at}.image_url.url` }, rules);
      images.push({ at: text.length, ...image });
      continue;
    }
    const isRefusal = part.type === 'refusal' && role === 'assistant';
    if (part.type !== 'text' && !isRefusal)
      throw invalidValue(at, `must be a text part; '${part.type.slice(0, 40)}' is not supported`);
    const field = isRefusal ? 'refusal' : 'text';
    const written = part[field];
    if (written === undefined) throw missingField(`${at}.${field}`);
    text += written;
  }
  return { content: text, ...(images.length > 0 && { images }) };
}

function parseTools(request: ChatRequest): FunctionTool[] {
  const tools = request.tools ?? [];
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
  for (const [index, name] of allowed.entries()) {
    if (!tools.some((tool) => tool.function.name === name)) {
      throw invalidValue(
        `tool_choice.allowed_tools.tools.${index}.function.name`,
        "must be the name of one of 'tools'",
      );
    }
  }
  return tools.filter((tool) => allowed.includes(tool.function.name));
}

function parseToolChoice(request: ChatRequest, tools: readonly FunctionTool[]): ToolChoice {
  const choice = request.tool_choice ?? (tools.length > 0 ? 'auto' : 'none');
  if (choice === 'none' || choice === 'auto') return tools.length > 0 ? choice : 'none';
  if (tools.length === 0) throw invalidValue('tool_choice', "needs 'tools' to choose from");
  if (choice === 'required') return choice;
  if (choice.type === 'allowed_tools') return choice.allowed_tools.mode;
  const { name } = choice.function;
  if (!tools.some((tool) => tool.function.name === name)) {
    throw invalidValue('tool_choice.function.name', "must be the name of one of 'tools'");
  }
  return { name };
}

/** Returns the format of a schema beside `json_object`, which has no name. */
export function namedSchema(schema: Record<string, unknown>): Extract<OutputFormat, { type: 'json_schema' }> {
  return { type: 'json_schema', name: 'response', strict: true, schema };
}

/** Returns the requested output format. Throws 400 `missing_required_field` when `json_schema` has no schema. */
export function outputFormat(request: ChatRequest): OutputFormat {
  const format = request.response_format;
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
