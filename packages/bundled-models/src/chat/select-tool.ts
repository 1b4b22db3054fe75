import type { Message, Tool } from './conversation.ts';
import { extractTerms } from './terms.ts';

/** Characters of a turn that are read, from its end. */
const MAX_READ_CHARACTERS = 8_000;
/** Earlier user turns that are read, and the discount of each step back. */
const MAX_EARLIER_TURNS = 4;
const TURN_DISCOUNT = 0.8;

/** Names of tools that only look something up. */
const LOOKUP_TOOL =
  /^(?:find|search|get|look|list|check|show|query|fetch|browse|view|read|retrieve|compare|calculate|count)/i;
const ASKS_FOR_LOOKUP =
  /\b(?:find|search|look|looking|show|else|another|other|others|more|different|recommend|suggest|options?|what|which|any|some|are there|is there|available|check)\b/i;
const AGREES =
  /^\W*(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|exactly|perfect|great|sounds (?:good|great)|go ahead|please do|that(?:'s| is| would be| works| sounds)|absolutely|definitely|of course|looks good|fine|awesome|cool)\b/i;
const ASKS_TO_CONFIRM =
  /\b(?:confirm|correct|is that (?:right|ok)|right\?|would you like me to|shall i|should i|do you want me to|is this|does that)\b/i;

/**
 * Weights of the features of a tool: fitted on the training dialogues of Schema-Guided Dialogue and on halves of
 * API-Bank and BFCL. Features whose removal did not change the development half were dropped
 * (bench/results/0021-bundled-models.md).
 */
const WEIGHTS = {
  userTerms: 5.43,
  nameInUserTerms: 3.17,
  assistantTerms: 2.78,
  nameInAssistantTerms: 1.71,
  earlierTerms: 1.7,
  called: -1.85,
  calledLast: 0.72,
  lookupRequested: 0.71,
  actionConfirmed: 2.49,
  actionFirst: -0.45,
} as const;

/** The index of the tool that fits the conversation best; the first of equal ones. `tools` is not empty. */
export function selectTool(tools: readonly Tool[], messages: readonly Message[]): number {
  const scores = scoreTools(tools, messages);
  return scores.indexOf(Math.max(...scores));
}

function scoreTools(tools: readonly Tool[], messages: readonly Message[]): number[] {
  const toolTerms = tools.map(extractToolTerms);
  const frequency = new Map<string, number>();
  for (const { all } of toolTerms) for (const term of all) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  const idf = (term: string): number => Math.log(1 + (tools.length + 0.5) / ((frequency.get(term) ?? 0) + 0.5));
  const sumIdf = (terms: readonly string[]): number => terms.reduce((sum, term) => sum + idf(term), 0);
  const coverage = (terms: readonly string[], by: ReadonlySet<string>): number => {
    const total = sumIdf(terms);
    return total === 0 ? 0 : sumIdf(terms.filter((term) => by.has(term))) / total;
  };
  const [lastUser = '', ...earlier] = readTurns(messages, 'user');
  const [assistant = ''] = readTurns(messages, 'assistant').filter((text) => text !== '');
  const [userTerms, assistantTerms] = [extractTerms(lastUser), extractTerms(assistant)];
  const [userSet, assistantSet] = [new Set(userTerms), new Set(assistantTerms)];
  const earlierTerms = earlier.slice(0, MAX_EARLIER_TURNS).map(extractTerms);
  const called = messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name));
  const confirmed = isConfirmed(messages);
  return tools.map((tool, i) => {
    const { name, all } = toolTerms[i] as ToolTerms;
    const isLookup = isLookupTool(tool);
    const features: Record<keyof typeof WEIGHTS, number> = {
      userTerms: coverage(userTerms, all),
      nameInUserTerms: coverage(name, userSet),
      assistantTerms: coverage(assistantTerms, all),
      nameInAssistantTerms: coverage(name, assistantSet),
      earlierTerms: Math.max(0, ...earlierTerms.map((terms, back) => coverage(terms, all) * TURN_DISCOUNT ** back)),
      called: Number(called.includes(tool.function.name)),
      calledLast: Number(called.at(-1) === tool.function.name),
      lookupRequested: Number(isLookup && ASKS_FOR_LOOKUP.test(lastUser)),
      actionConfirmed: Number(!isLookup && confirmed),
      actionFirst: Number(!isLookup && called.length === 0),
    };
    return Object.entries(WEIGHTS).reduce(
      (sum, [key, weight]) => sum + weight * features[key as keyof typeof WEIGHTS],
      0,
    );
  });
}

/** Whether a tool only looks something up, by its name. */
export function isLookupTool(tool: Tool): boolean {
  return LOOKUP_TOOL.test(tool.function.name);
}

/** Whether the last user message agrees to a question of the assistant that asks for confirmation. */
export function isConfirmed(messages: readonly Message[]): boolean {
  const [lastUser = ''] = readTurns(messages, 'user');
  const [assistant = ''] = readTurns(messages, 'assistant').filter((text) => text !== '');
  return AGREES.test(lastUser) && ASKS_TO_CONFIRM.test(assistant);
}

/** The texts of a role, the newest first. */
function readTurns(messages: readonly Message[], role: Message['role']): string[] {
  const turns = messages.filter((message) => message.role === role);
  return turns.map(({ content }) => (content ?? '').slice(-MAX_READ_CHARACTERS)).reverse();
}

/** Terms that describe a tool. */
export interface ToolTerms {
  name: readonly string[];
  /** Terms of the name, the description and the parameters. */
  all: ReadonlySet<string>;
}

/** Extracts the terms of a tool. */
export function extractToolTerms({ function: { name, description = '', parameters } }: Tool): ToolTerms {
  const properties = Object.entries(Object(parameters?.['properties']) as Record<string, unknown>);
  const texts = properties.map(([key, value]) => {
    const { description: about = '', enum: values } = Object(value) as { description?: unknown; enum?: unknown };
    const names = Array.isArray(values) ? values.filter((each) => typeof each === 'string') : [];
    return `${splitIdentifier(key)} ${String(about)} ${names.join(' ')}`;
  });
  const nameTerms = extractTerms(splitIdentifier(name));
  return { name: nameTerms, all: new Set([...nameTerms, ...extractTerms([description, ...texts].join(' '))]) };
}

/** Splits camel case and snake case into words. */
export function splitIdentifier(identifier: string): string {
  return identifier.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replace(/[^\p{L}\p{N}]+/gu, ' ');
}
