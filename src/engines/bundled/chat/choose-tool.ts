import type { ChatMessage, ChatPrompt, FunctionTool } from '../../engine.ts';
import type { Guide } from '../../local/guide.ts';
import { narrowed } from './argument-values.ts';
import { AGREES, ASKS_TO_CONFIRM, type Conversation, LOOKING, readConversation, toolFeatures } from './tool-match.ts';

/**
 * What each of `toolFeatures` weighs: fitted on the training dialogues of Schema-Guided Dialogue and on halves of
 * API-Bank and BFCL.
 */
const TOOL_WEIGHTS: readonly number[] = [
  5.43, 3.17, 2.78, 1.71, 1.7, 1.54, 0.35, 0.58, -2.06, 0.72, 1.49, 0.07, 0.71, -0.11, 2.49, -0.45, -0.07,
];
/** A tool that falls behind the best one by less is left to the model to choose. */
const CLOSE = 0;
/** Tools that are left to the model at most. */
const MAX_SHOWN = 2;

/**
 * What each of `turnFeatures` adds to the logit of a call; the constant last. Fitted with the model's own logit beside
 * them on development halves of Schema-Guided Dialogue, API-Bank, BFCL and small talk, and shifted to where nine of ten
 * turns that should talk do.
 */
const TURN_WEIGHTS: readonly number[] = [
  -3.9, 3.85, 3.49, -1.02, 1.5, 1.78, -2.16, -1.67, 2.65, -0.02, -1.12, -2.88, -0.53, -1.86, 0.05, 5.59, -1.65, -0.79,
  1.33, 0.27, 2.62, -1.43, 3.25, 4.21, -4.7,
];

/**
 * What helps the model to call the right tool, and to call at all when it should: it is shown the tool that fits what was
 * said, and its own inclination to call is shifted by what the turn looks like.
 */
export function guideTools(prompt: ChatPrompt): Guide {
  const { tools, toolChoice, messages } = prompt;
  const conversation = readConversation(messages);
  const features = toolFeatures(tools, conversation);
  const named = typeof toolChoice === 'object' ? tools.findIndex((tool) => tool.function.name === toolChoice.name) : -1;
  const shown = named >= 0 ? [named] : bestOf(features);
  const best = shown[0] ?? 0;
  const held = shown.map((index) => [index, narrowed(tools[index] as FunctionTool, messages)] as const);
  return {
    // The order of the list is the caller's, so that what is computed of a prompt serves the next turn.
    tools: shown.toSorted((a, b) => a - b),
    parameters: Object.fromEntries(held.flatMap(([index, schema]) => (schema === null ? [] : [[index, schema]]))),
    callBias: weighed(
      turnFeatures(conversation, { tool: tools[best], numbers: features[best] ?? [] }, messages),
      TURN_WEIGHTS,
    ),
  };
}

/** The places of the tools that fit best, the best first. */
function bestOf(features: readonly (readonly number[])[]): number[] {
  const scored = features
    .map((numbers, index) => ({ index, score: weighed(numbers, TOOL_WEIGHTS) }))
    .sort((a, b) => b.score - a.score);
  const least = (scored[0]?.score ?? 0) - CLOSE;
  return scored
    .filter(({ score }) => score >= least)
    .slice(0, MAX_SHOWN)
    .map(({ index }) => index);
}

function weighed(numbers: readonly number[], weights: readonly number[]): number {
  return numbers.reduce((sum, number, i) => sum + number * (weights[i] ?? 0), weights[numbers.length] ?? 0);
}

const REFUSES =
  /^\W*(?:no\b|nope|not? (?:thanks|thank)|thanks|thank you|that(?:'s| is) (?:all|it)|bye|goodbye|nothing)/;
const WANTS =
  /\b(?:want|need|would like|looking for|find|search|book|reserve|get|show|play|can you|could you|please|help me)\b/;
/** Telling words from which a turn is as good as any longer one. */
const MANY_WORDS = 10;
/** Telling words of an answer to a question of the assistant at most. */
const SHORT = 5;
/** How assistants ask whether they have it right. */
const CONFIRMING =
  /\b(?:please confirm|confirming|confirm (?:the|that|these|your|whether)|is (?:this|that|it) (?:right|correct|ok)|correct\?|right\?|you(?:'d| would) like|you want)\b/;

/** What tells whether a turn calls for a tool: numbers of 0 to 1. `numbers`: those of `tool`, which fits best. */
export function turnFeatures(
  conversation: Conversation,
  { tool, numbers }: { tool: FunctionTool | undefined; numbers: readonly number[] },
  messages: readonly ChatMessage[],
): number[] {
  const { lastLower, lastAssistant, afterResult, called, user } = conversation;
  const one = (sign: boolean): number => (sign ? 1 : 0);
  const number = (at: number): number => numbers[at] ?? 0;
  const confirms = ASKS_TO_CONFIRM.test(lastAssistant);
  const agrees = AGREES.test(lastLower);
  const asks = lastLower.trimEnd().endsWith('?');
  const looks = tool !== undefined && LOOKING.test(tool.function.name);
  return [
    one(afterResult),
    number(0),
    number(1),
    number(4),
    number(6),
    number(7),
    one(agrees),
    one(REFUSES.test(lastLower)),
    one(agrees && confirms),
    one(asks),
    one(lastAssistant.trimEnd().endsWith('?') && !confirms),
    number(8),
    one(messages.filter(({ role }) => role === 'user').length === 1),
    one(WANTS.test(lastLower)),
    one(called.length > 0 && asks),
    Math.min(user.length, MANY_WORDS) / MANY_WORDS,
    afterResult ? number(11) : 0,
    one(looks),
    one(looks && number(7) === 1 && !afterResult),
    one(!looks && agrees),
    one(!looks && agrees && confirms),
    one(!looks && !agrees && !afterResult),
    one(looks && !asks && lastAssistant.trimEnd().endsWith('?') && user.length <= SHORT),
    one(CONFIRMING.test(lastAssistant) && agrees),
  ];
}
