import type { Message, Tool } from './conversation.ts';
import { extractToolTerms, isConfirmed, isLookupTool } from './select-tool.ts';
import { countStatedArguments } from './stated-arguments.ts';
import { extractTerms } from './terms.ts';

/** Characters of a message that are read, from its end. */
const MAX_READ_CHARACTERS = 4_000;
const MAX_TURNS = 5;
/** Bounds of the bias, in logits: the model decides where it is sure. */
export const MIN_CALL_BIAS = -1.5;
export const MAX_CALL_BIAS = 0.4;

const CLOSES = /\b(?:thanks?|thank you|bye|that(?:'s| is) all|no more|nothing else|have a (?:nice|good|great))\b/i;

/**
 * What the features add to the logit of a call. Fitted by `eval/chat/fit-call-decision.ts` on development turns;
 * results in `bench/results/tool-decision.md`.
 */
const WEIGHTS = {
  constant: 0.02,
  missingArguments: -0.73,
  statedShare: 0.87,
  allStated: 0.28,
  nothingRequired: 0.79,
  closes: -1.25,
  asks: 1.44,
  firstTurn: 1.26,
  lookup: -1.68,
  actionUnconfirmed: -1.39,
  toolTerms: 1.67,
  turnsSinceCall: 0.38,
  called: -1.45,
} as const;

/** Features of the decision whether to call. */
export type CallFeatures = Record<keyof typeof WEIGHTS, number>;

/**
 * The logit bias of a call of `tool`, the tool that fits best: negative where the user has not stated the required
 * arguments, closes the conversation, or says something that the tool is not for. Zero unless the last message is the
 * user's.
 */
export function callBias(tool: Tool, messages: readonly Message[]): number {
  if (messages.at(-1)?.role !== 'user') return 0;
  const features = extractCallFeatures(tool, messages);
  const keys = Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[];
  const sum = keys.reduce((total, key) => total + WEIGHTS[key] * features[key], 0);
  return Math.max(MIN_CALL_BIAS, Math.min(MAX_CALL_BIAS, sum));
}

/** Computes the features. `messages` ends with a user message. */
export function extractCallFeatures(tool: Tool, messages: readonly Message[]): CallFeatures {
  const text = (messages.at(-1)?.content ?? '').trim().slice(-MAX_READ_CHARACTERS);
  const { required, stated } = countStatedArguments(tool, messages);
  const terms = extractTerms(text);
  const { all } = extractToolTerms(tool);
  const sinceResult = messages.slice(messages.findLastIndex(({ role }) => role === 'tool') + 1);
  const called = messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name));
  const isLookup = isLookupTool(tool);
  return {
    constant: 1,
    missingArguments: required - stated,
    statedShare: required === 0 ? 1 : stated / required,
    allStated: Number(required === stated),
    nothingRequired: Number(required === 0),
    closes: Number(CLOSES.test(text)),
    asks: Number(text.endsWith('?')),
    firstTurn: Number(!messages.some(({ role }) => role === 'assistant')),
    lookup: Number(isLookup),
    actionUnconfirmed: Number(!isLookup && !isConfirmed(messages)),
    toolTerms: terms.length === 0 ? 0 : terms.filter((term) => all.has(term)).length / terms.length,
    turnsSinceCall: Math.min(MAX_TURNS, sinceResult.filter(({ role }) => role === 'user').length),
    called: Number(called.includes(tool.function.name)),
  };
}
