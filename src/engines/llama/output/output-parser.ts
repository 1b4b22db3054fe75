import type { FinishReason, GenerationEvent, TokenLogprob } from '../../engine.ts';
import { ToolCallEmitter } from '../tool-calls/call-emitter.ts';
import type { ToolCallFormat } from '../tool-calls/call-format.ts';
import { parseAfterCall, ToolCallParser } from '../tool-calls/call-parser.ts';
import { TextScanner } from './stop-sequences.ts';

/** Tags around reasoning. */
export interface ReasoningTags {
  open: string;
  close: string;
}

/** Syntax of one completion. */
export interface OutputParserOptions {
  choice: number;
  stop: readonly string[];
  /** `tagged`: reasoning may come first, between tags. `open`: the prompt ends with the opening tag. */
  reasoning: 'none' | 'tagged' | 'open';
  reasoningTags: ReasoningTags;
  /** Null: tool calls are not parsed. */
  calls: { format: ToolCallFormat; names: ReadonlySet<string>; parallel: boolean } | null;
  /** The completion consists of tool calls, and the prompt ends with their start marker. */
  beginsWithCall: boolean;
  /** The tokenizer puts a space before the first word, which is not part of the content. */
  dropsFirstSpace: boolean;
}

/** A delta or the end of a completion. */
export type OutputEvent = Extract<GenerationEvent, { choice: number }>;

/** Called when a decoding constraint may take effect. */
export interface OutputHooks {
  /** A tool call starts, `rest` of it is generated. Returns whether the grammar of tool calls applies from here on. */
  onToolCallStart(rest: string): boolean;
  /** Reasoning has ended, `rest` of the content is generated. */
  onContentStart(rest: string): void;
}

interface LogprobEntry {
  /** Characters of text before the token. */
  at: number;
  entry: TokenLogprob;
}

/**
 * Parses the text of a completion into deltas of reasoning, content up to a stop sequence, and tool calls. The deltas
 * add up to the same however the tokens split the text.
 */
export class OutputParser {
  readonly #form: OutputParserOptions;
  readonly #constraint: OutputHooks;
  readonly #emit: (event: OutputEvent) => void;
  readonly #emitter: ToolCallEmitter;
  #mode: 'opening' | 'think' | 'text' | 'call' | 'between' | 'over';
  #scanner: TextScanner;
  #parser: ToolCallParser | null = null;
  /** What started the current call; emitted as text if it turns out not to be a call. */
  #opener = '';
  /** The current call started without a marker: its function name decides whether it is a call. */
  #unmarked = false;
  #grammarInForce = false;
  #mayReason: boolean;
  /** Text whose meaning depends on what follows. */
  #undecided = '';
  #atStart = true;
  #trimStart = false;
  /** Leading white space, which is dropped if only tool calls follow. */
  #pendingWhitespace = '';
  #hasText = false;
  #stopSequence: string | null = null;
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

  /**
   * Takes the text that a token completed. Returns whether the completion has ended by a stop sequence or with the last
   * call.
   */
  push(text: string, logprob: TokenLogprob | null): boolean {
    this.#unreportedTokens += 1;
    if (logprob !== null) this.#logprobs.push({ at: this.#readLength, entry: logprob });
    if (text === '') return false;
    const dropped = this.#atStart && this.#form.dropsFirstSpace && text.startsWith(' ');
    this.#atStart = false;
    this.#read(dropped ? text.slice(1) : text);
    return this.#mode === 'over';
  }

  /** Ends the completion: emits buffered text and the finish reason. `length`: the token limit was reached. */
  end(why: 'stop' | 'length'): void {
    // Text that only looked like a call may contain another one that only looks like one.
    while (this.#mode === 'call' && this.#emitter.uncertain) this.#read(this.#abandonCall());
    if (this.#mode === 'opening') this.#emitText(this.#undecided);
    if (this.#mode === 'text') this.#emitText(this.#scanner.release());
    if (this.#mode === 'think') this.#emitReasoning(this.#scanner.release());
    if (!this.#emitter.any) this.#flushWhitespace();
    this.#mode = 'over';
    const reason: FinishReason = why === 'stop' && this.#emitter.any ? 'tool_calls' : why;
    const stopSequence = reason === 'stop' && this.#stopSequence !== null ? { stopSequence: this.#stopSequence } : {};
    this.#emit({ type: 'choice-end', choice: this.#form.choice, reason, ...stopSequence });
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

  /**
   * Where reasoning or a call without a marker may start. These methods return the text that is left for another mode.
   */
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
      this.#stopSequence = found;
      this.#mode = 'over';
    }
    return rest;
  }

  /** Whether a grammar constrains the call that starts with `rest`. */
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

  /** `constrained`: a grammar guarantees that this becomes a call, so its parts are emitted as they arrive. */
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
    const more = outcome === 'emitted' && this.#form.calls?.parallel === true;
    this.#mode = more ? 'between' : 'over';
    this.#undecided = '';
    return rest;
  }

  /** The text is not a call. Its start is emitted as text, the rest is parsed again. */
  #abandonCall(): string {
    const again = this.#parser?.raw ?? '';
    const { stop, calls } = this.#form;
    const opening = new TextScanner(stop);
    const { clear, found } = opening.push(this.#opener);
    if (found !== null) {
      this.#emitText(clear);
      this.#stopSequence = found;
      this.#mode = 'over';
      return '';
    }
    this.#mode = 'text';
    // A stop sequence that starts like a call would be taken for the start of a call again.
    const held = opening.held.includes(calls?.format.begin ?? '') ? '' : opening.held;
    this.#scanner = this.#textScanner(held);
    this.#emitText(held === '' ? this.#opener : clear);
    return again;
  }

  /** Between calls, closing markers and separators are not content. */
  #readBetween(text: string): string {
    const { calls } = this.#form;
    if (calls === null) return '';
    this.#undecided += text;
    const next = parseAfterCall(calls.format, this.#undecided);
    if (next === 'more') return '';
    this.#undecided = '';
    if (next.kind === 'text') {
      this.#mode = 'text';
      this.#scanner = this.#textScanner();
      return next.rest;
    }
    this.#trimStart = true;
    // A grammar that takes effect here would start with the separator before the first call.
    const held =
      this.#grammarInForce ||
      (calls.format.open.length === 0 && calls.format.bare === null && this.#isConstrained(next.rest));
    this.#beginCall(next.skipped, false, held);
    this.#unmarked = calls.format.bare !== null;
    return next.rest;
  }
}
