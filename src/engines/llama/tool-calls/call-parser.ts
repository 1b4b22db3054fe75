import { matchParts, type ToolCallFormat } from './call-format.ts';

/** A part of a call, in the order of the text. */
export type ToolCallPart =
  | { kind: 'name'; name: string }
  | { kind: 'arguments'; text: string }
  /** The call is complete; `rest` follows it. */
  | { kind: 'end'; rest: string }
  /** The text is not a call. */
  | { kind: 'broken' };

/** Maximum characters before the arguments: a name and punctuation. */
const MAX_HEAD_CHARACTERS = 1_024;

/** Parses one call from a stream of fragments. */
export class ToolCallParser {
  readonly #format: ToolCallFormat;
  readonly #first: boolean;
  /** All text so far, for the case that it is not a call. */
  raw = '';
  #state: 'head' | 'arguments' | 'tail' | 'over' = 'head';
  #pending = '';
  #depth = 0;
  #inText = false;
  #escaped = false;

  /** `first`: the call follows the start marker and not another call. */
  constructor(format: ToolCallFormat, first: boolean) {
    this.#format = format;
    this.#first = first;
  }

  push(piece: string): ToolCallPart[] {
    this.raw += piece;
    this.#pending += piece;
    const parts: ToolCallPart[] = [];
    if (this.#state === 'head') this.#readHead(parts);
    if (this.#state === 'arguments') this.#readArguments(parts);
    if (this.#state === 'tail') this.#readTail(parts);
    return parts;
  }

  #readHead(parts: ToolCallPart[]): void {
    const { open, head } = this.#format;
    const match = matchParts(this.#first ? [...open, ...head] : head, this.#pending);
    if (match === 'no' || (match === 'more' && this.#pending.length > MAX_HEAD_CHARACTERS)) this.#break(parts);
    else if (match !== 'more') {
      this.#pending = this.#pending.slice(match.length);
      this.#state = 'arguments';
      parts.push({ kind: 'name', name: match.name ?? '' });
    }
  }

  #readArguments(parts: ToolCallPart[]): void {
    if (this.#depth === 0) {
      this.#pending = this.#pending.trimStart();
      if (this.#pending === '') return;
      if (!this.#pending.startsWith('{')) {
        this.#break(parts);
        return;
      }
    }
    let end = 0;
    for (; end < this.#pending.length; end++) {
      if (this.#isLast(this.#pending[end] ?? '')) {
        this.#state = 'tail';
        end += 1;
        break;
      }
    }
    parts.push({ kind: 'arguments', text: this.#pending.slice(0, end) });
    this.#pending = this.#pending.slice(end);
  }

  /** Whether `char` closes the arguments object. */
  #isLast(char: string): boolean {
    if (this.#escaped) this.#escaped = false;
    else if (this.#inText) {
      if (char === '\\') this.#escaped = true;
      else if (char === '"') this.#inText = false;
    } else if (char === '"') this.#inText = true;
    else if (char === '{' || char === '[') this.#depth += 1;
    else if (char === '}' || char === ']') {
      this.#depth -= 1;
      return this.#depth === 0;
    }
    return false;
  }

  #readTail(parts: ToolCallPart[]): void {
    const match = matchParts(this.#format.tail, this.#pending);
    if (match === 'more') return;
    if (match === 'no') this.#break(parts);
    else {
      this.#state = 'over';
      parts.push({ kind: 'end', rest: this.#pending.slice(match.length) });
    }
  }

  #break(parts: ToolCallPart[]): void {
    this.#state = 'over';
    parts.push({ kind: 'broken' });
  }
}

/** What follows a complete call: another call behind `skipped`, text, or too little text to decide. */
export type FollowingText = { kind: 'call'; skipped: string; rest: string } | { kind: 'text'; rest: string } | 'more';

/** Parses what follows a complete call. White space and closing markers there are not content. */
export function parseAfterCall(format: ToolCallFormat, text: string): FollowingText {
  let rest = text;
  const closed = matchParts(format.close, rest);
  if (closed === 'more') return 'more';
  if (closed !== 'no') rest = rest.slice(closed.length);
  const next = matchParts(format.between, rest);
  if (next !== 'no') {
    if (next === 'more') return 'more';
    const begun = rest.slice(next.length).trimStart();
    if (format.bare === null || begun.startsWith(format.bare))
      return { kind: 'call', skipped: rest.slice(0, next.length), rest: rest.slice(next.length) };
    if (begun === '') return 'more';
  }
  const ended = matchParts(format.end, rest);
  if (ended === 'more') return 'more';
  if (ended !== 'no') rest = rest.slice(ended.length);
  rest = rest.trimStart();
  return rest === '' ? 'more' : { kind: 'text', rest };
}
