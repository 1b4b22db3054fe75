import { readJsonLines } from '../../bench/harness/data-set.ts';
import type { Message, Tool } from './chat-client.ts';

/** A turn of a conversation with tools: the expected call, or null for a text reply. */
export interface ToolCase {
  messages: readonly Message[];
  tools: readonly Tool[];
  wanted: WantedCall | null;
}

/** A call with the accepted values of each argument. The value '' accepts a missing argument. */
export interface WantedCall {
  name: string;
  values: Readonly<Record<string, readonly unknown[]>>;
}

/** Files of the cases, relative to the data folder. */
export const TOOL_FILES = {
  sgdDev: 'chat/sgd_tool_dialogues_dev.jsonl.gz',
  sgdTrain: 'chat/sgd_tool_dialogues_train.jsonl.gz',
  bfcl: 'tools/BFCL_v4_simple_python.json.gz',
  bfclAnswers: 'tools/possible_answer/BFCL_v4_simple_python.json.gz',
  apiBank: 'chat/api_bank.jsonl.gz',
  talk: 'chat/personality_chat.jsonl.gz',
} as const;

interface Dialogue {
  messages: Message[];
  tools: Tool[];
}

interface BfclRow {
  id: string;
  question: [Message[]];
  function: [Tool['function']];
}

/** Maximum characters of a tool result; the entries of the list are alike. */
const MAX_RESULT = 260;
/** Maximum characters of a conversation, to fit every model's context. */
const MAX_CONVERSATION = 4_000;
/** Tools of other cases that are offered besides the right one. */
const OTHER_TOOLS = [37, 61, 97];

/** Turns of SGD dialogues, half of them calls, by whether all tools occur in the training set. */
export function sgd(data: string, half: number): { known: ToolCase[]; unseen: ToolCase[] } {
  const trained = new Set(
    readJsonLines<Dialogue>(data, TOOL_FILES.sgdTrain).flatMap(({ tools }) => tools.map((tool) => tool.function.name)),
  );
  const cases = turnsOf(readJsonLines<Dialogue>(data, TOOL_FILES.sgdDev).filter((_, i) => i % 2 === half));
  const isKnown = ({ tools }: ToolCase): boolean => tools.every((tool) => trained.has(tool.function.name));
  return { known: cases.filter(isKnown), unseen: cases.filter((one) => !isKnown(one)) };
}

/** Turns of API-Bank dialogues. */
export function apiBank(data: string, half: number): ToolCase[] {
  return turnsOf(readJsonLines<Dialogue>(data, TOOL_FILES.apiBank).filter((_, i) => i % 2 === half));
}

/**
 * Consecutive assistant messages are one turn: API-Bank separates the announcement of a call ("Let me check.") from the
 * call.
 */
export function turnsOf(dialogues: readonly Dialogue[]): ToolCase[] {
  return dialogues.flatMap(({ messages, tools }) =>
    messages.flatMap((message, at) => {
      if (message.role !== 'assistant' || messages[at - 1]?.role === 'assistant') return [];
      const before = messages.slice(0, at).map(shortened);
      if (JSON.stringify(before).length > MAX_CONVERSATION) return [];
      const end = messages.findIndex(({ role }, i) => i > at && role !== 'assistant');
      const turn = messages.slice(at, end < 0 ? undefined : end);
      const called = turn.flatMap(({ tool_calls: calls = [] }) => calls)[0]?.function;
      return [{ messages: before, tools, wanted: called === undefined ? null : wantedOf(called) }];
    }),
  );
}

function wantedOf({ name, arguments: given }: { name: string; arguments: string }): WantedCall {
  const values = Object.entries(JSON.parse(given) as Record<string, unknown>).map(([key, value]) => [key, [value]]);
  return { name, values: Object.fromEntries(values) };
}

function shortened(message: Message): Message {
  if (message.role !== 'tool') return message;
  const content = message.content ?? '';
  try {
    const value: unknown = JSON.parse(content);
    if (!Array.isArray(value)) return message;
    let shown = value.length;
    while (shown > 1 && JSON.stringify(value.slice(0, shown)).length > MAX_RESULT) shown -= 1;
    return { ...message, content: JSON.stringify(value.slice(0, shown)) };
  } catch {
    return { ...message, content: content.slice(0, MAX_RESULT) };
  }
}

/** Single requests of BFCL with their tool alone, or among four. */
export function bfcl(data: string, half: number): { alone: ToolCase[]; among: ToolCase[] } {
  const answers = new Map(
    readJsonLines<{ id: string; ground_truth: [Record<string, Record<string, unknown[]>>] }>(
      data,
      TOOL_FILES.bfclAnswers,
    ).map((row) => [row.id, row.ground_truth[0]]),
  );
  const rows = readJsonLines<BfclRow>(data, TOOL_FILES.bfcl);
  const chosen = rows.map((row, i) => ({ row, i })).filter(({ i }) => i % 2 === half);
  const toCase = (row: BfclRow, functions: readonly Tool['function'][]): ToolCase => {
    const [name = '', values = {}] = Object.entries(answers.get(row.id) ?? {})[0] ?? [];
    return { messages: row.question[0], tools: functions.map(toolOf), wanted: { name: wireName(name), values } };
  };
  return {
    alone: chosen.map(({ row }) => toCase(row, row.function)),
    among: chosen.map(({ row, i }) => {
      const others = OTHER_TOOLS.map((step) => (rows[(i * 7 + step) % rows.length] as BfclRow).function[0]);
      const [own] = row.function;
      const names = new Map([...others, own].map((one) => [one.name, one]));
      return toCase(
        row,
        [...names.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
      );
    }),
  };
}

/** Names of the API have no dots. */
const wireName = (name: string): string => name.replaceAll('.', '_');

function toolOf(called: Tool['function']): Tool {
  const described = asSchema(called) as Tool['function'];
  return { type: 'function', function: { ...described, name: wireName(called.name) } };
}

const TYPES: Readonly<Record<string, string>> = { dict: 'object', float: 'number', tuple: 'array', any: 'string' };

/** BFCL names types as Python does. */
function asSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asSchema);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (key === 'default') return [];
    if (key === 'type' && typeof inner === 'string') return [[key, TYPES[inner] ?? inner]];
    return [[key, asSchema(inner)]];
  });
  return Object.fromEntries(members);
}

/** Small talk with unrelated tools. */
export function quiet(data: string, half: number): ToolCase[] {
  const rows = readJsonLines<BfclRow>(data, TOOL_FILES.bfcl);
  const turns = readJsonLines<Dialogue>(data, TOOL_FILES.talk).filter((_, i) => i % 14 === half * 7);
  return turns.map(({ messages }, i) => {
    const functions = [0, 91].map((step) => (rows[(i * 17 + step) % rows.length] as BfclRow).function[0]);
    return { messages: messages.slice(0, 1), tools: functions.map(toolOf), wanted: null };
  });
}
