import type { AnswerPart } from '../answers/answer-events.ts';
import type { Schema } from '../api/types.ts';
import { DEFAULT_SETTINGS, type PlaygroundSettings } from './request.ts';
import type { AnswerTurn, PlaygroundRequest, Turn } from './turns.ts';

type Contents = Schema<'RequestContents'>;
type Fields = Readonly<Record<string, unknown>>;

/** A message of a recorded prompt. `name` is the tool of a tool call or tool result. */
export interface PromptMessage {
  role: string;
  text: string;
  callId?: string;
  name?: string;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const readFields = (value: unknown): Fields => (isFields(value) ? value : {});
const readList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const string = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the text of a string or of the text parts of a content array. */
function readText(content: unknown): string {
  if (!Array.isArray(content))
    return typeof content === 'object' && content !== null ? JSON.stringify(content) : string(content);
  return content
    .map((part) =>
      typeof part === 'string' ? part : string(readFields(part)['text']) || `[${string(readFields(part)['type'])}]`,
    )
    .join('\n');
}

function readItem(item: unknown): PromptMessage[] {
  const {
    role,
    type,
    content,
    name,
    call_id: callId,
    tool_call_id: toolId,
    output,
    arguments: args,
    tool_calls: calls,
  } = readFields(item);
  if (type === 'function_call') {
    return [{ role: 'call', text: string(args), name: string(name), callId: string(callId) }];
  }
  if (type === 'function_call_output') return [{ role: 'tool', text: readText(output), callId: string(callId) }];
  const text = readText(content);
  const called = readList(calls).flatMap((call): PromptMessage[] => {
    const { id, function: called } = readFields(call);
    const { name: tool, arguments: text } = readFields(called);
    return [{ role: 'call', text: readText(text), name: string(tool), callId: string(id) }];
  });
  if (role === 'tool') return [{ role, text, callId: string(toolId) }];
  return [...(text === '' && called.length > 0 ? [] : [{ role: string(role) || string(type), text }]), ...called];
}

/** Extracts the messages of a request body of any protocol. Empty if the format is unknown. */
export function readPromptMessages(prompt: unknown): PromptMessage[] {
  const { system, instructions, messages, input, prompt: text } = readFields(prompt);
  const first = readText(system ?? instructions);
  const items = [...readList(messages), ...readList(input)].flatMap(readItem);
  const plain = typeof input === 'string' ? input : text === undefined ? '' : readText(text);
  return [
    ...(first === '' ? [] : [{ role: 'system', text: first }]),
    ...items,
    ...(plain === '' ? [] : [{ role: 'user', text: plain }]),
  ];
}

const isSystem = ({ role }: PromptMessage): boolean => role === 'system' || role === 'developer';

/** Initial state of the playground to repeat a recorded request. */
export function openRecordedRequest({ prompt, answer }: Pick<Contents, 'prompt' | 'answer'>): {
  settings: Partial<PlaygroundSettings>;
  turns: Turn[];
} {
  const fields = readFields(prompt);
  const messages = readPromptMessages(prompt);
  const model = string(fields['model']);
  const system = messages.filter(isSystem).map(({ text }) => text);
  const request: PlaygroundRequest = { path: '/v1/chat/completions', body: { ...fields } };
  const turns: Turn[] = [];
  const addPart = (part: AnswerPart) => {
    const last = turns.at(-1);
    if (last?.role === 'assistant') turns[turns.length - 1] = { ...last, parts: [...last.parts, part] };
    else turns.push({ ...newAnswer(turns.length + 1, model, request), parts: [part] });
  };
  let key = 0;
  const nextKey = () => `recorded ${key++}`;
  const text = (value: string): AnswerPart => ({
    kind: 'text',
    key: nextKey(),
    text: value,
    citations: [],
    tokens: [],
  });
  const call = (name: string, callId: string, value: string): AnswerPart => ({
    ...{ kind: 'call', key: nextKey(), name, callId, arguments: value },
  });
  for (const { role, text: value, callId = '', name = '' } of messages.filter((message) => !isSystem(message))) {
    if (role === 'user') turns.push({ role, id: turns.length + 1, text: value });
    else if (role === 'tool') turns.push({ role, id: turns.length + 1, callId, name, output: value });
    else addPart(role === 'call' ? call(name, callId, value) : text(value));
  }
  // Only the answer of the last model call: earlier calls requested tools of the service.
  const lastCall = Math.max(0, ...answer.map(({ call: number }) => number));
  for (const { type, text: value, name = '', call: number, choice } of answer)
    if (number === lastCall && choice === 0 && type !== 'reasoning')
      addPart(type === 'text' ? text(value) : call(name, nextKey(), value));
  return { settings: { system: system.join('\n\n'), ...readParameters(fields) }, turns };
}

/** Parameters that the playground has a field for. */
function readParameters(fields: Fields): Partial<PlaygroundSettings> {
  const number = (name: string) => (typeof fields[name] === 'number' ? fields[name] : undefined);
  const { format, schema } = DEFAULT_SETTINGS;
  const chosen = {
    temperature: number('temperature'),
    topP: number('top_p'),
    maxTokens: number('max_tokens') ?? number('max_completion_tokens') ?? number('max_output_tokens'),
    seed: number('seed'),
  };
  const entries = Object.entries(chosen).filter(([, value]) => value !== undefined);
  return { format, schema, ...Object.fromEntries(entries) };
}

const newAnswer = (id: number, model: string, request: PlaygroundRequest): AnswerTurn => ({
  ...{ role: 'assistant', id, model, state: 'done', parts: [], context: [], usage: null, firstTokenMs: null },
  ...{ totalMs: null, finishReason: null, requestId: null, cacheStatus: null, error: null, request },
});
