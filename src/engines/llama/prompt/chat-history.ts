import { createHash } from 'node:crypto';
import { parseJson } from '../../../lib/json.ts';
import type { ChatMessage, FunctionTool, ToolCall } from '../../engine.ts';
import { arrangeRoles } from '../../message-roles.ts';
import type { TemplateTraits } from './template-traits.ts';

/** A message in the form that chat templates take. */
export interface TemplateMessage {
  role: ChatMessage['role'];
  content: string | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: unknown } }[];
  tool_call_id?: string;
  name?: string;
}

/** Call ids of templates that require short ones. */
const SHORT_ID = /^[a-zA-Z0-9]{9}$/;

/**
 * Arranges messages in an order and shape that the template supports, without dropping content: unsupported content is
 * moved to the nearest message that can hold it. `tools` are described in a message if the template does not render
 * them.
 */
export function arrangeMessages(
  messages: readonly ChatMessage[],
  tools: readonly FunctionTool[],
  traits: TemplateTraits,
): TemplateMessage[] {
  const written = traits.supportsToolCalls
    ? formatToolCalls(messages, traits)
    : describeTools(messages.map(toPlainMessage), tools);
  const needsUser = traits.toolsNeedUserMessage && tools.length > 0;
  return fillGaps(arrangeRoles(written, traits), {
    ...traits,
    assistantFirst: traits.assistantFirst && !needsUser,
    systemAlone: traits.systemAlone && !needsUser,
  });
}

/** Past tool calls in the form that the template supports. */
function formatToolCalls(messages: readonly ChatMessage[], traits: TemplateTraits): TemplateMessage[] {
  const written: TemplateMessage[] = [];
  const answered = new Set<ChatMessage>();
  messages.forEach((message, index) => {
    if (answered.has(message)) return;
    const { tool_calls: calls = [], ...rest } = message;
    if (calls.length === 0) {
      written.push({ ...rest, content: rest.content ?? '', ...toolCallReference(message, traits) });
      return;
    }
    const text = rest.content ?? '';
    const apart = traits.splitsText && text !== '';
    if (apart) written.push({ ...rest, content: text });
    const content = apart || text === '' ? emptyContent(traits) : text;
    const groups = traits.oneCallPerMessage ? calls.map((call) => [call]) : [calls];
    groups.forEach((group, place) => {
      const tool_calls = group.map((call) => formatToolCall(call, traits));
      written.push({ ...rest, content: place === 0 ? content : emptyContent(traits), tool_calls });
      if (groups.length === 1) return;
      // Each call is followed by its result.
      for (const reply of repliesTo(group, messages, index)) {
        answered.add(reply);
        written.push({
          ...reply,
          content: reply.content ?? '',
          ...toolCallReference(reply, traits),
        } as TemplateMessage);
      }
    });
  });
  return written;
}

const emptyContent = (traits: TemplateTraits): string | null => (traits.nullContent ? null : '');

function repliesTo(calls: readonly ToolCall[], messages: readonly ChatMessage[], index: number): ChatMessage[] {
  const replies: ChatMessage[] = [];
  for (const message of messages.slice(index + 1)) {
    if (message.role !== 'tool') break;
    if (calls.some((call) => call.id === message.tool_call_id)) replies.push(message);
  }
  return replies;
}

function toolCallReference(message: ChatMessage, traits: TemplateTraits): { tool_call_id?: string } {
  return message.tool_call_id === undefined ? {} : { tool_call_id: templateCallId(message.tool_call_id, traits) };
}

function formatToolCall(call: ToolCall, traits: TemplateTraits): NonNullable<TemplateMessage['tool_calls']>[number] {
  const argument = call.function.arguments;
  return {
    ...call,
    id: templateCallId(call.id, traits),
    function: { ...call.function, arguments: traits.argumentObjects ? parseArguments(argument) : argument },
  };
}

/** Maps an id to a short one, always the same, so that calls match their results and cached prompts. */
function templateCallId(id: string, traits: TemplateTraits): string {
  if (!traits.shortIds || SHORT_ID.test(id)) return id;
  // Hexadecimal digits: 36 bits distinguish the calls of one conversation.
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

/** Arguments of a past call; invalid ones are rendered unchanged. */
function parseArguments(json: string): unknown {
  const value = parseJson(json);
  return typeof value === 'object' && value !== null ? value : json;
}

/** For templates without tools: their descriptions as a system message. */
function describeTools(messages: readonly TemplateMessage[], tools: readonly FunctionTool[]): TemplateMessage[] {
  if (tools.length === 0) return [...messages];
  const listed = tools.map((tool) => JSON.stringify(tool.function)).join('\n');
  const example = callText('function name', '{}');
  const text = `You can call these functions:\n${listed}\nTo call one, answer with:\n${example}`;
  const [first, ...others] = messages;
  if (first?.role === 'system') return [{ ...first, content: `${first.content}\n\n${text}` }, ...others];
  return [{ role: 'system', content: text }, ...messages];
}

function toPlainMessage(message: ChatMessage): TemplateMessage {
  if (message.role === 'tool') {
    return { role: 'user', content: `Result of the function call:\n${message.content ?? ''}` };
  }
  const { tool_calls: calls = [], ...rest } = message;
  if (calls.length === 0) return { ...rest, content: rest.content ?? '' };
  const written = calls.map((call) => callText(call.function.name, call.function.arguments));
  return { role: 'assistant', content: [message.content ?? '', ...written].join('\n').trim() };
}

/** A call in the format for models without one of their own. */
function callText(name: string, given: string): string {
  return `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${given}}\n</tool_call>`;
}

/**
 * Inserts empty messages where the template requires one: before a leading assistant message, after tool results, or
 * for a missing user.
 */
function fillGaps(messages: readonly TemplateMessage[], traits: TemplateTraits): TemplateMessage[] {
  const filled: TemplateMessage[] = [];
  for (const message of messages) {
    const last = filled.at(-1);
    const opens = last === undefined || last.role === 'system';
    if (opens && message.role === 'assistant' && !traits.assistantFirst)
      filled.push({ role: 'user', content: traits.emptyTurn });
    if (last?.role === 'tool' && message.role === 'user' && !traits.userAfterResult) {
      filled.push({ role: 'assistant', content: traits.emptyTurn });
    }
    filled.push(message);
  }
  if (!traits.systemAlone && filled.every((message) => message.role === 'system')) {
    filled.push({ role: 'user', content: traits.emptyTurn });
  }
  return filled;
}
