import { isRecord, parseJson } from '../../../lib/json.ts';
import type { ChatMessage, ChatPrompt, PromptImage, ToolCall } from '../../engine.ts';
import { splitAtImages } from '../../prompt-images.ts';

/** Ends a prefix that the server caches. */
const CACHED = { cache_control: { type: 'ephemeral' } };

type Block = Record<string, unknown>;

interface Turn {
  role: 'user' | 'assistant';
  content: Block[];
}

/**
 * Converts a prompt to the fields of Anthropic's Messages. System messages are joined, because Messages has one system
 * prompt, and consecutive messages of one role become one turn. The end of the system prompt and the end of the
 * conversation are marked for the server's prefix cache.
 */
export function promptFields({ messages, tools, toolChoice, parallelToolCalls }: ChatPrompt): Record<string, unknown> {
  const isSystem = ({ role }: ChatMessage) => role === 'system';
  const system = messages.filter(isSystem).map(toText).filter(hasText).join('\n\n');
  const turns = joinTurns(messages.filter((message) => !isSystem(message)));
  const last = turns.at(-1)?.content;
  if (last !== undefined) last.push({ ...last.pop(), ...CACHED });
  const definitions: Block[] = tools.map(({ function: { name, description, parameters, strict } }) => ({
    name,
    ...(description !== undefined && { description }),
    input_schema: { type: 'object', ...parameters },
    ...(strict === true && { strict }),
  }));
  // Tools come before the system prompt, so that a mark after it includes them.
  if (system === '' && definitions.length > 0) definitions.push({ ...definitions.pop(), ...CACHED });
  return {
    ...(system !== '' && { system: [{ type: 'text', text: system, ...CACHED }] }),
    messages: turns,
    ...(definitions.length > 0 && { tools: definitions, tool_choice: wireToolChoice(toolChoice, parallelToolCalls) }),
  };
}

function wireToolChoice(choice: ChatPrompt['toolChoice'], parallel: boolean): Block {
  if (choice === 'none') return { type: 'none' };
  const type = choice === 'required' ? 'any' : choice;
  return {
    ...(typeof type === 'string' ? { type } : { type: 'tool', name: type.name }),
    ...(!parallel && { disable_parallel_tool_use: true }),
  };
}

/** Results of parallel calls become one turn of the user, as Messages requires. Empty messages are left out. */
function joinTurns(messages: readonly ChatMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = toBlocks(message);
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) turns.push({ role, content });
  }
  return turns;
}

function toBlocks(message: ChatMessage): Block[] {
  const { role, tool_calls: calls = [], tool_call_id: id = '' } = message;
  if (role === 'tool') return [{ type: 'tool_result', tool_use_id: wireId(id), content: toText(message) }];
  const parts = splitAtImages(message).filter((part) => typeof part !== 'string' || hasText(part));
  return [
    ...parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : imageBlock(part))),
    ...calls.map(toolUseBlock),
  ];
}

const toText = ({ content }: ChatMessage): string => content ?? '';

/** Messages rejects blocks of white space. */
const hasText = (text: string): boolean => text.trim() !== '';

function toolUseBlock({ id, function: { name, arguments: text } }: ToolCall): Block {
  const input = parseJson(text);
  return { type: 'tool_use', id: wireId(id), name, input: isRecord(input) ? input : {} };
}

/** Ids of other servers may have characters that Messages rejects. */
const wireId = (id: string): string => id.replace(/[^\w-]/g, '_');

function imageBlock({ url }: PromptImage): Block {
  const [, mediaType, data] = /^data:([^;,]*)[^,]*;base64,(.*)$/s.exec(url) ?? [];
  const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type: mediaType, data };
  return { type: 'image', source };
}
