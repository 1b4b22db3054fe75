import type { FinishReason, GenerationEvent, TokenLogprob } from '../../engine.ts';
import { ToolCallEmitter } from '../tool-calls/call-emitter.ts';
import type { ToolCallFormat } from '../tool-calls/call-format.ts';
import { parseFollowing, ToolCallParser } from '../tool-calls/call-parser.ts';
import { TextScanner } from './stop-sequences.ts';

/** What thinking stands between. */
export interface ReasoningTags {
  open: string;
  close: string;
}

/** What one answer may consist of. */
export interface OutputParserOptions {
  choice: number;
  stop: readonly string[];
  /** `tagged`: thinking may come first, between tags. `open`: the prompt ends with the opening tag. */
  reasoning: 'none' | 'tagged' | 'open';
  reasoningTags: ReasoningTags;
  /** Null: calls are not looked for. */
  calls: { format: ToolCallFormat; names: ReadonlySet<string>; parallel: boolean } | null;
  /** The answer is calls and nothing else, and the prompt ends with what begins them. */
  beginsWithCall: boolean;
  /** The vocabulary puts a space before the first word of a text, which is no part of the answer. */
  dropsFirstSpace: boolean;
}

/** A delta or the end of the answer. */
export type OutputEvent = Extract<GenerationEvent, { choice: number }>;

/** How the rest of an answer can be held to its form. */
export interface OutputHooks {
  /** A call begins, with `rest` of it already made: true when the grammar of calls is in force from here on. */
  onToolCallStart(rest: string): boolean;
  /** Thinking is over, and `rest` of the answer already made. */
  onContentStart(rest: string): void;
}

interface LogprobEntry {
  /** Characters of text that came before the token. */
  at: number;
  entry: TokenLogprob;
}

/**
 * Turns the text of one answer's tokens into deltas: thinking, text up to a stop text, and calls. What is told adds up
 * to the same wherever the tokens cut the text.
 */
export class OutputParser {
  readonly #form: OutputParserOptions;
  readonly #constraint: OutputHooks;
  readonly #emit: (event: OutputEvent) => void;
  readonly #emitter: ToolCallEmitter;
  #mode: 'opening' | 'think' | 'text' | 'call' | 'between' | 'over';
  #scanner: TextScanner;
  #parser: ToolCallParser | null = null;
  /** What led to the call under way, and is text if it is none. */
  #opener = '';
  /** The call under way began without a marker: its name decides whether it is one. */
  #unmarked = false;
  #grammarInForce = false;
  #mayReason: boolean;
  /** Read, but what it is depends on what comes. */
  #undecided = '';
  #atStart = true;
  #trimStart = false;
  /** White space at the beginning of a text that may turn out to lead to nothing but calls. */
  #pendingWhitespace = '';
  #hasText = false;
  #unreportedTokens = 0;
  #readLength = 0;
  #emittedLength = 0;
  #logprobs: LogprobEntry[] = [];

  constructor(form: OutputParserOptions, constraint: OutputHooks, emit: (event: OutputEvent) => void) {
    this.#form = form;
    this.#constraint = constraint;
    this.#emit = emit;
    const { choice } = form;
    this.#emitter = new ToolCallEmitter(form.calls?.names ?? new Set(), (delta) =>
      emit({ type: 'tool-call-delta', choice, ...delta, tokens: this.#takeTokens() }),
    );
    this.#scanner = this.#textScanner();
    this.#mayReason = form.reasoning === 'tagged';
    this.#mode = 'opening';
    if (form.beginsWithCall) {
      this.#grammarInForce = true;
      this.#beginCall('', true, true);
    } else if (form.reasoning === 'open') this.#beginReasoning();
  }

  /** Takes the text that a token completed. True when the answer is over: a stop text came, or the last call did. */
  push(text: string, logprob: TokenLogprob | null): boolean {
    this.#unreportedTokens += 1;
    if (logprob !== null) this.#logprobs.push({ at: this.#readLength, entry: logprob });
    if (text === '') return false;
    const dropped = this.#atStart && this.#form.dropsFirstSpace && text.startsWith(' ');
    this.#atStart = false;
    this.#read(dropped ? text.slice(1) : text);
    return this.#mode === 'over';
  }

  /** Ends the answer: says what was held back and why it ended. `length` when the tokens ran out. */
  end(why: 'stop' | 'length'): void {
    // Text that only looked like a call may hold another one that only looks so.
    while (this.#mode === 'call' && this.#emitter.uncertain) this.#read(this.#abandonCall());
    if (this.#mode === 'opening') this.#emitText(this.#undecided);
    if (this.#mode === 'text') this.#emitText(this.#scanner.release());
    if (this.#mode === 'think') this.#emitReasoning(this.#scanner.release());
    if (!this.#emitter.any) this.#flushWhitespace();
    this.#mode = 'over';
    const reason: FinishReason = why === 'stop' && this.#emitter.any ? 'tool_calls' : why;
    this.#emit({ type: 'choice-end', choice: this.#form.choice, reason });
  }

  #textScanner(held = ''): TextScanner {
    const { stop, calls } = this.#form;
    return new TextScanner(calls === null ? stop : [...stop, calls.format.begin], held);
  }

  #read(text: string): void {
    let rest = text;
    while (rest !== '' && this.#mode !== 'over') {
      if (this.#mode === 'opening') rest = this.#readOpening(rest);
      else if (this.#mode === 'think') rest = this.#readReasoning(rest);
      else if (this.#mode === 'call') rest = this.#readCall(rest);
      else if (this.#mode === 'between') rest = this.#readBetween(rest);
      else rest = this.#readText(rest);
    }
  }

  /** Where thinking or a call without a marker may begin. These all return what is left for another mode. */
  #readOpening(text: string): string {
    this.#undecided += text;
    const begun = this.#undecided.trimStart();
    const { open } = this.#form.reasoningTags;
    const bare = this.#form.calls?.format.bare ?? null;
    if ((this.#mayReason || bare !== null) && begun === '') return '';
    if (this.#mayReason && begun.startsWith(open)) {
      this.#beginReasoning();
      return begun.slice(open.length);
    }
    if (this.#mayReason && open.startsWith(begun)) return '';
    const all = this.#undecided;
    this.#undecided = '';
    if (bare !== null && begun.startsWith(bare)) {
      this.#beginCall('', true, false);
      this.#unmarked = true;
    } else this.#mode = 'text';
    return all;
  }

  #readReasoning(text: string): string {
    const { clear, found, rest } = this.#scanner.push(text);
    this.#emitReasoning(clear);
    if (found === null) return rest;
    this.#mode = 'opening';
    this.#mayReason = false;
    this.#undecided = '';
    this.#scanner = this.#textScanner();
    this.#trimStart = true;
    this.#constraint.onContentStart(rest.trimStart());
    return rest;
  }

  #readText(text: string): string {
    this.#readLength += text.length;
    const { clear, found, rest } = this.#scanner.push(text);
    this.#emitText(clear);
    if (found === null) return rest;
    if (found === this.#form.calls?.format.begin) this.#beginCall(found, true, this.#isConstrained(rest));
    else {
      this.#logprobs = [];
      this.#mode = 'over';
    }
    return rest;
  }

  /** Whether a grammar holds the call that begins with `rest`. */
  #isConstrained(rest: string): boolean {
    this.#grammarInForce ||= this.#constraint.onToolCallStart(rest);
    return this.#grammarInForce;
  }

  #beginReasoning(): void {
    this.#mode = 'think';
    this.#logprobs = [];
    this.#scanner = new TextScanner([this.#form.reasoningTags.close]);
  }

  #emitReasoning(text: string): void {
    this.#logprobs = [];
    if (text === '') return;
    this.#emit({ type: 'reasoning-delta', choice: this.#form.choice, text, tokens: this.#takeTokens() });
  }

  #emitText(clear: string): void {
    const text = this.#trimStart ? clear.trimStart() : clear;
    this.#emittedLength += clear.length;
    if (text === '') return;
    this.#trimStart = false;
    this.#pendingWhitespace += text;
    if (this.#form.calls === null || this.#hasText || text.trim() !== '') this.#flushWhitespace();
  }

  #flushWhitespace(): void {
    const text = this.#pendingWhitespace;
    if (text === '') return;
    this.#pendingWhitespace = '';
    this.#hasText = true;
    const said = this.#logprobs.filter(({ at }) => at < this.#emittedLength);
    this.#logprobs = this.#logprobs.slice(said.length);
    const logprobs = said.length === 0 ? {} : { logprobs: said.map(({ entry }) => entry) };
    this.#emit({ type: 'text-delta', choice: this.#form.choice, text, tokens: this.#takeTokens(), ...logprobs });
  }

  #takeTokens(): number {
    const tokens = this.#unreportedTokens;
    this.#unreportedTokens = 0;
    return tokens;
  }

  /** `held`: a grammar sees to it that this becomes a call, so its parts can be told as they come. */
  #beginCall(opener: string, first: boolean, held: boolean): void {
    const { calls } = this.#form;
    if (calls === null) return;
    this.#mode = 'call';
    this.#opener = opener;
    this.#unmarked = false;
    this.#parser = new ToolCallParser(calls.format, first);
    this.#emitter.begin(held);
  }

  #readCall(text: string): string {
    for (const part of this.#parser?.push(text) ?? []) {
      if (part.kind === 'broken') return this.#abandonCall();
      if (part.kind === 'end') return this.#endCall(part.rest);
      if (part.kind === 'name' && this.#unmarked) {
        if (!this.#emitter.isKnownFunction(part.name)) return this.#abandonCall();
        if (this.#isConstrained(this.#parser?.raw ?? '')) this.#emitter.trust();
      }
      this.#emitter.add(part);
    }
    return '';
  }

  #endCall(rest: string): string {
    const outcome = this.#emitter.complete();
    if (outcome === 'none') return this.#abandonCall();
    this.#logprobs = [];
    this.#pendingWhitespace = '';
    this.#readLength = this.#emittedLength;
    // A model that repeats a call has nothing else to say.
    const more = outcome === 'told' && this.#form.calls?.parallel === true;
    this.#mode = more ? 'between' : 'over';
    this.#undecided = '';
    return rest;
  }

  /** What looked like a call is none. What began it is said as text, and the rest is read again as such. */
  #abandonCall(): string {
    const again = this.#parser?.raw ?? '';
    const { stop, calls } = this.#form;
    const opening = new TextScanner(stop);
    const { clear, found } = opening.push(this.#opener);
    if (found !== null) {
      this.#emitText(clear);
      this.#mode = 'over';
      return '';
    }
    this.#mode = 'text';
    // A stop text that begins with a call's beginning would be taken for that beginning again.
    const held = opening.held.includes(calls?.format.begin ?? '') ? '' : opening.held;
    this.#scanner = this.#textScanner(held);
    this.#emitText(held === '' ? this.#opener : clear);
    return again;
  }

  /** Between calls, what closes one and what leads to the next is no text. */
  #readBetween(text: string): string {
    const { calls } = this.#form;
    if (calls === null) return '';
    this.#undecided += text;
    const next = parseFollowing(calls.format, this.#undecided);
    if (next === 'more') return '';
    this.#undecided = '';
    if (next.kind === 'text') {
      this.#mode = 'text';
      this.#scanner = this.#textScanner();
      return next.rest;
    }
    this.#trimStart = true;
    // A grammar that comes into force here would begin with what leads to the first call.
    const held =
      this.#grammarInForce ||
      (calls.format.open.length === 0 && calls.format.bare === null && this.#isConstrained(next.rest));
    this.#beginCall(next.skipped, false, held);
    this.#unmarked = calls.format.bare !== null;
    return next.rest;
  }
}
