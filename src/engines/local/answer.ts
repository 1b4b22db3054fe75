import { newId } from '../../lib/ids.ts';
import type { FinishReason, GenerationEvent, TokenLogprob } from '../engine.ts';
import { TextScanner } from './stop-text.ts';
import { type CallFormat, CallParser, type CallPart } from './tool-calls.ts';

const THINK = '<think>';
const THOUGHT = '</think>';

/** What one answer may consist of. */
export interface AnswerForm {
  choice: number;
  stop: readonly string[];
  /** `tagged`: thinking may come first, between tags. `open`: the prompt ends with the opening tag. */
  reasoning: 'none' | 'tagged' | 'open';
  /** Null: calls are not looked for. */
  calls: { format: CallFormat; names: ReadonlySet<string>; parallel: boolean } | null;
  /** The prompt ends with the beginning of a call. */
  beginsWithCall: boolean;
}

/** A delta or the end of the answer. */
export type AnswerEvent = Extract<GenerationEvent, { choice: number }>;

/** How the rest of an answer can be held to its form. */
export interface Constraint {
  /** A call begins, with `rest` of it already made: true when the grammar of calls is in force from here on. */
  callBegins(rest: string): boolean;
  /** Thinking is over, and `rest` of the answer already made. */
  answerBegins(rest: string): void;
}

interface LogprobEntry {
  /** Characters of text that came before the token. */
  at: number;
  entry: TokenLogprob;
}

/** Turns the text of one answer's tokens into deltas: thinking, text up to a stop text, and calls. */
export class Answer {
  readonly #form: AnswerForm;
  readonly #constraint: Constraint;
  readonly #emit: (event: AnswerEvent) => void;
  #mode: 'think' | 'start' | 'thought' | 'text' | 'call' | 'between' | 'over' = 'text';
  #scanner: TextScanner;
  #parser = new CallParser();
  #heldCall: CallPart[] | null = null;
  #callIndex = -1;
  #callsMade = 0;
  #between = '';
  #trimStart = false;
  #unsaidTokens = 0;
  #textSeen = 0;
  #textSaid = 0;
  #logprobs: LogprobEntry[] = [];

  constructor(form: AnswerForm, constraint: Constraint, emit: (event: AnswerEvent) => void) {
    this.#form = form;
    this.#constraint = constraint;
    this.#emit = emit;
    this.#scanner = this.#textScanner();
    if (form.beginsWithCall) this.#beginCall(true);
    else if (form.reasoning === 'open') this.#think();
    else if (form.reasoning === 'tagged') {
      this.#mode = 'start';
      this.#scanner = new TextScanner([THINK]);
    }
  }

  /** Takes the text that a token completed. True when the answer is over: a stop text came, or the last call did. */
  push(text: string, logprob: TokenLogprob | null): boolean {
    this.#unsaidTokens += 1;
    if (logprob !== null) this.#logprobs.push({ at: this.#textSeen, entry: logprob });
    this.#read(text);
    return this.#mode === 'over';
  }

  /** Ends the answer: says what was held back and why it ended. `length` when the tokens ran out. */
  end(why: 'stop' | 'length'): void {
    if (this.#mode === 'thought' || this.#mode === 'text') this.#say(this.#scanner.release());
    if (this.#mode === 'start') this.#enterText(this.#scanner.release(), true);
    if (this.#mode === 'think') this.#sayThought(this.#scanner.release());
    if (this.#mode === 'call' && this.#heldCall !== null) this.#leaveCall();
    this.#mode = 'over';
    const reason: FinishReason = why === 'stop' && this.#callsMade > 0 ? 'tool_calls' : why;
    this.#emit({ type: 'choice-end', choice: this.#form.choice, reason });
  }

  #textScanner(): TextScanner {
    const { stop, calls } = this.#form;
    return new TextScanner(calls === null ? stop : [...stop, calls.format.begin]);
  }

  #read(text: string): void {
    let rest = text;
    while (rest !== '' && this.#mode !== 'over') {
      if (this.#mode === 'call') rest = this.#readCall(rest);
      else if (this.#mode === 'between') rest = this.#readBetween(rest);
      else rest = this.#readText(rest);
    }
  }

  /** Returns what is left for another mode. */
  #readText(text: string): string {
    if (this.#mode === 'text') this.#textSeen += text.length;
    const { clear, found, rest } = this.#scanner.push(text);
    if (this.#mode === 'start') {
      if (found !== null && clear.trim() === '') this.#think();
      else if (clear.trim() !== '')
        return this.#enterText(clear + (found ?? '') + (found === null ? this.#scanner.release() : ''), false) + rest;
      return rest;
    }
    if (this.#mode === 'think') {
      this.#sayThought(clear);
      if (found === null) return rest;
      this.#enterText('', false);
      this.#trimStart = true;
      this.#constraint.answerBegins(rest.trimStart());
      return rest;
    }
    this.#say(clear);
    if (found === null) return rest;
    if (found !== this.#form.calls?.format.begin) this.#stop();
    else this.#beginCall(this.#constraint.callBegins(rest));
    return rest;
  }

  #stop(): void {
    this.#logprobs = [];
    this.#mode = 'over';
  }

  #think(): void {
    this.#mode = 'think';
    this.#logprobs = [];
    this.#scanner = new TextScanner([THOUGHT]);
  }

  /** Returns `text`, to be read as text, or says it at once when nothing will follow. */
  #enterText(text: string, last: boolean): string {
    this.#mode = 'text';
    this.#scanner = this.#textScanner();
    if (!last) return text;
    this.#say(text);
    return '';
  }

  #sayThought(text: string): void {
    this.#logprobs = [];
    if (text === '') return;
    this.#emit({ type: 'reasoning-delta', choice: this.#form.choice, text, tokens: this.#takeTokens() });
  }

  #say(clear: string): void {
    const text = this.#trimStart ? clear.trimStart() : clear;
    this.#textSaid += clear.length;
    if (text === '') return;
    this.#trimStart = false;
    const said = this.#logprobs.filter(({ at }) => at < this.#textSaid);
    this.#logprobs = this.#logprobs.slice(said.length);
    const logprobs = said.length === 0 ? {} : { logprobs: said.map(({ entry }) => entry) };
    this.#emit({ type: 'text-delta', choice: this.#form.choice, text, tokens: this.#takeTokens(), ...logprobs });
  }

  #takeTokens(): number {
    const tokens = this.#unsaidTokens;
    this.#unsaidTokens = 0;
    return tokens;
  }

  /** `trusted`: a grammar sees to it that this becomes a call, so its parts can be told as they come. */
  #beginCall(trusted: boolean): void {
    this.#mode = 'call';
    this.#parser = new CallParser();
    this.#heldCall = trusted ? null : [];
  }

  #readCall(text: string): string {
    let rest = '';
    for (const part of this.#parser.push(text)) {
      if (part.kind === 'broken') return this.#leaveCall();
      if (part.kind === 'end') {
        if (!this.#releaseHeldCall()) return this.#leaveCall();
        this.#callsMade += 1;
        this.#logprobs = [];
        this.#mode = this.#form.calls?.parallel === true ? 'between' : 'over';
        rest = part.rest;
      } else if (this.#heldCall !== null) this.#heldCall.push(part);
      else this.#tell(part);
    }
    return rest;
  }

  /** Tells a call that was held back until it was complete; false when it is none after all. */
  #releaseHeldCall(): boolean {
    const held = this.#heldCall;
    if (held === null) return true;
    const name = held.find((part) => part.kind === 'name')?.name ?? '';
    const given = held.map((part) => (part.kind === 'arguments' ? part.text : '')).join('');
    if (this.#form.calls?.names.has(name) !== true || !isJson(given)) return false;
    this.#tell({ kind: 'name', name });
    this.#tell({ kind: 'arguments', text: given });
    return true;
  }

  #tell(part: CallPart): void {
    const { choice } = this.#form;
    if (part.kind === 'name') {
      this.#callIndex += 1;
      const head = { id: newId('toolCall'), name: part.name, arguments: '' };
      this.#emit({ type: 'tool-call-delta', choice, index: this.#callIndex, ...head, tokens: this.#takeTokens() });
    }
    if (part.kind === 'arguments') {
      const said = { index: this.#callIndex, arguments: part.text, tokens: this.#takeTokens() };
      this.#emit({ type: 'tool-call-delta', choice, ...said });
    }
  }

  /** What looked like a call is none: it is text. */
  #leaveCall(): string {
    const { raw } = this.#parser;
    this.#enterText('', false);
    const text = (this.#form.calls?.format.begin ?? '') + raw;
    this.#say(text);
    this.#textSeen = this.#textSaid;
    return '';
  }

  /** Between calls: the closing tag and white space are swallowed, another beginning starts a call, else it is text. */
  #readBetween(text: string): string {
    const format = this.#form.calls?.format;
    if (format === undefined) return '';
    this.#between = (this.#between + text).trimStart();
    const close = format.close.trim();
    if (close !== '' && this.#between.startsWith(close)) {
      this.#between = this.#between.slice(close.length).trimStart();
    }
    if (this.#between.startsWith(format.begin)) {
      const rest = this.#between.slice(format.begin.length);
      this.#between = '';
      this.#beginCall(this.#constraint.callBegins(rest));
      return rest;
    }
    if (close.startsWith(this.#between) || format.begin.startsWith(this.#between)) return '';
    const rest = this.#between;
    this.#between = '';
    return this.#enterText(rest, false);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The caller keeps it as text.
    return false;
  }
}
