import type { ChatMessage, FunctionTool } from '../../engine.ts';
import { tellingStems } from './words.ts';

/** A conversation as the choice of a tool sees it. */
export interface Conversation {
  /** Stems of the last user's turn, of the assistant's before it, and of the user's earlier ones, the newest first. */
  user: readonly string[];
  assistant: readonly string[];
  earlier: readonly (readonly string[])[];
  all: ReadonlySet<string>;
  /** All that was said, in small letters. */
  lower: string;
  /** The same of the last user's turn, and of the assistant's before it. */
  lastLower: string;
  lastAssistant: string;
  /** Words of the members of the last tool's result. */
  resultKeys: ReadonlySet<string>;
  /** Names of the tools that were called, the last one last. */
  called: readonly string[];
}

/** Characters of a conversation, and of one turn, that are read, from the end: older ones say little of what is wanted now. */
const MAX_READ_CHARACTERS = 8_000;
/** Turns of the user before the last that are read. */
const MAX_EARLIER = 4;

/** `getWeather_forNow` as words. */
const spaced = (identifier: string): string =>
  identifier.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replace(/[^\p{L}\p{N}]+/gu, ' ');

/** The parameters of a tool by name. */
export function parametersOf(tool: FunctionTool): [string, Record<string, unknown>][] {
  const properties = tool.function.parameters?.['properties'];
  if (typeof properties !== 'object' || properties === null) return [];
  return Object.entries(properties).map(([name, schema]) => [name, Object(schema) as Record<string, unknown>]);
}

/** The texts that a parameter may have; none where it may have any. */
function enumOf(schema: Record<string, unknown>): string[] {
  return Array.isArray(schema['enum']) ? schema['enum'].filter((value) => typeof value === 'string') : [];
}

/** The names of the parameters that a tool requires. */
export function requiredOf(tool: FunctionTool): ReadonlySet<unknown> {
  const required = tool.function.parameters?.['required'];
  return new Set(Array.isArray(required) ? required : []);
}

/** Reads a conversation. Pure. */
export function readConversation(messages: readonly ChatMessage[]): Conversation {
  const textOf = (message: ChatMessage | undefined): string => (message?.content ?? '').slice(-MAX_READ_CHARACTERS);
  const users = messages.filter(({ role }) => role === 'user');
  const before = messages.findLast(({ role, content }) => role === 'assistant' && content);
  const said = messages.filter(({ role }) => role === 'user' || role === 'assistant').map(textOf);
  const whole = said.join('\n').slice(-MAX_READ_CHARACTERS);
  const result = messages.findLast(({ role }) => role === 'tool')?.content ?? '';
  const keys = Array.from(result.slice(0, MAX_READ_CHARACTERS).matchAll(/"([\w-]{1,40})"\s*:/g), ([, key = '']) => key);
  return {
    user: tellingStems(textOf(users.at(-1))),
    assistant: tellingStems(textOf(before)),
    earlier: users
      .slice(-1 - MAX_EARLIER, -1)
      .reverse()
      .map((message) => tellingStems(textOf(message))),
    all: new Set(tellingStems(whole)),
    lower: whole.toLowerCase(),
    lastLower: textOf(users.at(-1)).toLowerCase(),
    lastAssistant: textOf(before).toLowerCase(),
    resultKeys: new Set(keys.flatMap((key) => tellingStems(spaced(key)))),
    called: messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name)),
  };
}

/** A tool's words. */
interface Words {
  name: readonly string[];
  all: ReadonlySet<string>;
}

function wordsOfTool(tool: FunctionTool): Words {
  const { name, description = '' } = tool.function;
  const parameters = parametersOf(tool).map(
    ([key, schema]) => `${spaced(key)} ${String(schema['description'] ?? '')} ${enumOf(schema).join(' ')}`,
  );
  const own = tellingStems(spaced(name));
  return { name: own, all: new Set([...own, ...tellingStems([description, ...parameters].join(' '))]) };
}

/** What tells whether a tool is meant: numbers of 0 to 1 for each of the tools, in their order. Pure. */
export function toolFeatures(tools: readonly FunctionTool[], conversation: Conversation): number[][] {
  const words = tools.map(wordsOfTool);
  const frequency = new Map<string, number>();
  for (const { all } of words) for (const stem of all) frequency.set(stem, (frequency.get(stem) ?? 0) + 1);
  const rarity = (stem: string): number => Math.log(1 + (tools.length + 0.5) / ((frequency.get(stem) ?? 0) + 0.5));
  const share = (stems: readonly string[], among: ReadonlySet<string>): number => {
    const total = stems.reduce((sum, stem) => sum + rarity(stem), 0);
    return total === 0 ? 0 : stems.reduce((sum, stem) => sum + (among.has(stem) ? rarity(stem) : 0), 0) / total;
  };
  const { user, assistant, earlier, called } = conversation;
  const [userSet, assistantSet] = [new Set(user), new Set(assistant)];
  return tools.map((tool, i) => {
    const { name, all } = words[i] as Words;
    const values = parametersOf(tool).flatMap(([, schema]) => enumOf(schema));
    const filled = filledOf(tool, conversation);
    return [
      share(user, all),
      share(name, userSet),
      share(assistant, all),
      share(name, assistantSet),
      Math.max(0, ...earlier.map((stems, back) => share(stems, all) * 0.8 ** back)),
      Math.max(0, ...earlier.map((stems, back) => share(name, new Set(stems)) * 0.8 ** back)),
      filled,
      filled === 1 ? 1 : 0,
      called.includes(tool.function.name) ? 1 : 0,
      called.at(-1) === tool.function.name ? 1 : 0,
      values.some((value) => value.length > 2 && conversation.lastLower.includes(value.toLowerCase())) ? 1 : 0,
      fromResult(tool, conversation),
      ...manner(tool, conversation),
    ];
  });
}

/** Names of tools that only look something up, and what users say who want that. */
const LOOKING =
  /^(?:find|search|get|look|list|check|show|query|fetch|browse|view|read|retrieve|compare|calculate|count)/i;
const WANTS_LOOK =
  /\b(?:find|search|look|looking|show|else|another|other|others|more|different|recommend|suggest|options?|what|which|any|some|are there|is there|available|check)\b/;
const WANTS_ACT =
  /\b(?:book|reserve|buy|purchase|order|rent|play|schedule|make|send|create|add|delete|remove|cancel|transfer|pay|set|share|start|stop|turn|confirm|register|watch)\b/;
const AGREES =
  /^\W*(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|exactly|perfect|great|sounds (?:good|great)|go ahead|please do|that(?:'s| is| would be| works| sounds)|absolutely|definitely|of course|looks good|fine|awesome|cool)\b/;
const ASKS_TO_CONFIRM =
  /\b(?:confirm|correct|is that (?:right|ok)|right\?|would you like me to|shall i|should i|do you want me to|is this|does that)\b/;

/** Looking comes before acting, and acting when the user agrees. */
function manner(tool: FunctionTool, conversation: Conversation): number[] {
  const { called, lastLower, lastAssistant, lower } = conversation;
  const looks = LOOKING.test(tool.function.name);
  const agrees = AGREES.test(lastLower) && ASKS_TO_CONFIRM.test(lastAssistant);
  const signs = [
    looks && WANTS_LOOK.test(lastLower),
    !looks && WANTS_ACT.test(lastLower),
    !looks && agrees,
    !looks && called.length === 0,
    !looks && WANTS_ACT.test(lower),
  ];
  return signs.map((sign) => (sign ? 1 : 0));
}

/** Share of the required arguments that have the name of a member of the last result, such as a token or an id. */
function fromResult(tool: FunctionTool, { resultKeys }: Conversation): number {
  const names = [...requiredOf(tool)].map((name) => tellingStems(spaced(String(name))));
  if (names.length === 0 || resultKeys.size === 0) return 0;
  return names.filter((stems) => stems.length > 0 && stems.every((stem) => resultKeys.has(stem))).length / names.length;
}

const NUMBER = /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred)\b/;
const DATE =
  /\d|today|tomorrow|tonight|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next|week|month|january|february|march|april|may|june|july|august|september|october|november|december/;
const TIME = /\d|noon|midnight|morning|afternoon|evening|o'clock|half past|quarter/;

/** Share of the required arguments for which a value seems to have been said; 1 where none are required. */
function filledOf(tool: FunctionTool, { lower, all, resultKeys }: Conversation): number {
  const names = requiredOf(tool);
  const wanted = parametersOf(tool).filter(([name]) => names.has(name));
  if (wanted.length === 0) return 1;
  const filled = wanted.filter(([name, schema]) => {
    const values = enumOf(schema);
    if (values.length > 0) return values.some((value) => lower.includes(value.toLowerCase()));
    const about = `${spaced(name)} ${String(schema['description'] ?? '')}`.toLowerCase();
    if (schema['type'] === 'integer' || schema['type'] === 'number') return NUMBER.test(lower);
    if (/\bdate|\bday\b/.test(about)) return DATE.test(lower);
    if (/\btime\b|\bhour/.test(about)) return TIME.test(lower);
    const stems = tellingStems(spaced(name));
    return stems.some((stem) => all.has(stem) || resultKeys.has(stem));
  });
  return filled.length / wanted.length;
}
