import type { ChatMessage, ChatPrompt, FunctionTool, OutputFormat, ToolChoice } from '../engines/engine.ts';
import { invalidValue, missingField } from '../errors.ts';
import type { ChatRequest } from './schema.ts';

type WireMessage = ChatRequest['messages'][number];
type WireContent = NonNullable<WireMessage['content']>;

/** Makes the engine's prompt from the request. Throws 400 naming the message, part, tool or choice that is wrong. */
export function chatPrompt(request: ChatRequest): ChatPrompt {
  const tools = toolsOf(request);
  return {
    kind: 'chat',
    messages: request.messages.map((message, index) => chatMessage(message, `messages.${index}`)),
    tools,
    toolChoice: toolChoiceOf(request, tools),
    parallelToolCalls: request.parallel_tool_calls ?? true,
  };
}

function chatMessage(message: WireMessage, at: string): ChatMessage {
  // `developer` is OpenAI's newer name of `system`; templates know the older one.
  const role = message.role === 'developer' ? 'system' : message.role;
  const content = message.content ?? null;
  const calls = message.tool_calls ?? [];
  if (calls.length > 0 && role !== 'assistant')
    throw invalidValue(`${at}.tool_calls`, 'belongs to assistant messages only');
  if (content === null && calls.length === 0) {
    if (message.content === undefined) throw missingField(`${at}.content`);
    throw invalidValue(`${at}.content`, 'may be null only beside tool_calls');
  }
  if (role === 'tool' && message.tool_call_id === undefined) throw missingField(`${at}.tool_call_id`);
  return {
    role,
    content: content === null ? null : textOf(content, `${at}.content`),
    ...(message.name !== undefined && { name: message.name }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => ({ ...call, type: 'function' as const })) }),
    ...(role === 'tool' && { tool_call_id: message.tool_call_id as string }),
  };
}

/** Text parts are joined as they stand; any other kind of part is refused by its name. */
function textOf(content: WireContent, at: string): string {
  if (typeof content === 'string') return content;
  return content
    .map((part, index) => {
      if (part.type !== 'text')
        throw invalidValue(`${at}.${index}`, `must be a text part; '${part.type.slice(0, 40)}' is not supported`);
      if (part.text === undefined) throw missingField(`${at}.${index}.text`);
      return part.text;
    })
    .join('');
}

function toolsOf(request: ChatRequest): FunctionTool[] {
  const tools = request.tools ?? [];
  tools.forEach((tool, index) => {
    const first = tools.findIndex((other) => other.function.name === tool.function.name);
    if (first !== index) throw invalidValue(`tools.${index}.function.name`, `is already the name of tools.${first}`);
  });
  return tools as FunctionTool[];
}

function toolChoiceOf(request: ChatRequest, tools: readonly FunctionTool[]): ToolChoice {
  const choice = request.tool_choice ?? (tools.length > 0 ? 'auto' : 'none');
  if (choice === 'none' || choice === 'auto') return tools.length > 0 ? choice : 'none';
  if (tools.length === 0) throw invalidValue('tool_choice', "needs 'tools' to choose from");
  if (choice === 'required') return choice;
  const { name } = choice.function;
  if (!tools.some((tool) => tool.function.name === name)) {
    throw invalidValue('tool_choice.function.name', "must be the name of one of 'tools'");
  }
  return { name };
}

/** The form that the answer must have. Throws 400 where `json_schema` lacks its schema. */
export function outputFormat(request: ChatRequest): OutputFormat {
  const format = request.response_format;
  if (format === undefined || format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object') return { type: 'json_object' };
  if (format.json_schema === undefined) throw missingField('response_format.json_schema');
  const { name, strict, schema } = format.json_schema;
  if (schema === undefined) throw missingField('response_format.json_schema.schema');
  return { type: 'json_schema', name, strict: strict ?? false, schema };
}
