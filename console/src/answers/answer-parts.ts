import type { AnswerEvent, AnswerPart } from './answer-events.ts';

/** An event that changes the parts of an answer. */
export type PartEvent = Extract<AnswerEvent, { type: 'part' | 'delta' | 'call' | 'citations' }>;

/**
 * Adds an event to the parts of an answer. Parts are replaced, never changed: React renders those with another
 * identity.
 */
export function addToParts(parts: AnswerPart[], event: PartEvent): void {
  replacePart(parts, event.type === 'part' ? event.part : extendPart(parts, event));
}

function extendPart(parts: readonly AnswerPart[], event: Exclude<PartEvent, { type: 'part' }>): AnswerPart {
  const { key } = event;
  const part = parts.find((each) => each.key === key);
  if (event.type === 'call') {
    const open = part?.kind === 'call' ? part : { kind: 'call' as const, key, callId: '', name: '', arguments: '' };
    const { callId = open.callId, name = open.name } = event;
    return { ...open, callId, name, arguments: open.arguments + event.arguments };
  }
  if (event.type === 'delta' && event.kind === 'reasoning') {
    return { kind: 'reasoning', key, text: (part?.kind === 'reasoning' ? part.text : '') + event.text };
  }
  const open = part?.kind === 'text' ? part : { kind: 'text' as const, key, text: '', citations: [], tokens: [] };
  if (event.type === 'citations') return { ...open, citations: event.citations };
  if (event.tokens !== undefined) open.tokens.push(...event.tokens);
  return { ...open, text: open.text + event.text };
}

function replacePart(parts: AnswerPart[], part: AnswerPart): void {
  const index = parts.findIndex(({ key }) => key === part.key);
  if (index === -1) parts.push(part);
  else parts[index] = part;
}
