import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp';
import type { TimeSlice } from '../../../lib/time-slices.ts';
import { asToken, tokenSpelling } from '../runtime/bindings.ts';
import { decodeByteSymbols } from './byte-symbols.ts';
import { TextSplitter } from './text-splitter.ts';

/** A control token, such as `<|user|>`. */
export interface ControlToken {
  token: number;
  text: string;
  /** Whether white space before or after the token is removed. */
  stripsBefore: boolean;
  stripsAfter: boolean;
}

/** The bytes of a token in a completion. */
export interface TokenText {
  bytes: Uint8Array;
  control: boolean;
}

const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/;

/**
 * The tokenizer of a model: bytes of tokens, control tokens, and tokenization that does not interpret control tokens in
 * texts of callers.
 */
export class LlamaTokenizer {
  readonly #model: LlamaModel;
  readonly #pieces = new Map<number, TokenText>();
  readonly controlTokens: readonly ControlToken[];
  readonly size: number;
  readonly #controlOfText: ReadonlyMap<string, ControlToken>;
  readonly #defined = new Map<string, number>();
  readonly #controlPattern: RegExp;
  readonly #splitter: TextSplitter;

  constructor(model: LlamaModel) {
    this.#model = model;
    this.size = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
    this.controlTokens = this.#findControls();
    this.#controlOfText = new Map(this.controlTokens.map((control) => [control.text, control]));
    // Longest first, so that the longer of two matches wins. Without control tokens the pattern matches nothing.
    const texts = this.controlTokens.map((control) => RegExp.escape(control.text));
    this.#controlPattern = new RegExp(texts.join('|') || '(?!)', 'g');
    this.#splitter = new TextSplitter(model, (text) => this.tokenize(text));
  }

  #findControls(): ControlToken[] {
    const controlTokens: ControlToken[] = [];
    for (let token = 0; token < this.size; token++) {
      const attributes = this.#model.getTokenAttributes(asToken(token));
      if (!attributes.control && !attributes.unknown && !attributes.userDefined) continue;
      const text = tokenSpelling(this.#model, token);
      if (text === '') continue;
      this.#defined.set(text, token);
      if (attributes.userDefined) continue;
      controlTokens.push({ token, text, stripsBefore: attributes.lstrip, stripsAfter: attributes.rstrip });
    }
    return controlTokens.sort((a, b) => b.text.length - a.text.length);
  }

  isEndOfGeneration(token: number): boolean {
    return this.#model.isEogToken(asToken(token));
  }

  /** Returns the bytes of a token. Those of a control token are its spelling. */
  tokenText(token: number): TokenText {
    const cached = this.#pieces.get(token);
    if (cached !== undefined) return cached;
    const tokenText = this.#makePiece(token);
    this.#pieces.set(token, tokenText);
    return tokenText;
  }

  #makePiece(token: number): TokenText {
    const spelling = tokenSpelling(this.#model, token);
    const attributes = this.#model.getTokenAttributes(asToken(token));
    const control = attributes.control || attributes.unknown;
    if (control || attributes.userDefined) return { bytes: Buffer.from(spelling), control };
    const type = this.#model.vocabularyType;
    if (type === LlamaVocabularyType.bpe) return { bytes: decodeByteSymbols(spelling), control };
    const byte = BYTE_TOKEN.exec(spelling);
    if (byte?.[1] !== undefined) return { bytes: Uint8Array.of(Number.parseInt(byte[1], 16)), control };
    if (type === LlamaVocabularyType.spm || type === LlamaVocabularyType.ugm) {
      return { bytes: Buffer.from(spelling.replaceAll('▁', ' ')), control };
    }
    return { bytes: Buffer.from(this.#model.detokenize([asToken(token)], true)), control };
  }

  /** Tokenizes text in which control tokens are ordinary text. */
  tokenize(text: string): number[] {
    return text === '' ? [] : this.#model.tokenize(text, false);
  }

  /** Like `tokenize`, but in time slices. Stops soon after `most` tokens. */
  async tokenizeText(text: string, most: number, slice: TimeSlice): Promise<number[]> {
    return this.#tokenizeRuns([text], most, slice);
  }

  /**
   * Tokenizes a rendered prompt and interprets its control tokens. Text is split at `mark`, which was inserted into
   * texts of callers to break control tokens there, and the mark is dropped. Runs in time slices. Stops soon
   * after `most` tokens.
   */
  async tokenizePrompt(prompt: string, mark: string | null, most: number, slice: TimeSlice): Promise<number[]> {
    return this.#tokenizeRuns(this.#runs(prompt, mark), most, slice);
  }

  /** Splits a prompt into control tokens and the texts between them. */
  *#runs(prompt: string, mark: string | null): Generator<string | ControlToken, void, undefined> {
    const splitRun = (run: string): string[] => (mark === null ? [run] : run.split(mark));
    let from = 0;
    let stripNext = false;
    for (const hit of prompt.matchAll(this.#controlPattern)) {
      const control = this.#controlOfText.get(hit[0]);
      if (control === undefined) continue;
      let run = prompt.slice(from, hit.index);
      if (stripNext) run = run.trimStart();
      yield* splitRun(control.stripsBefore ? run.trimEnd() : run);
      yield control;
      stripNext = control.stripsAfter;
      from = hit.index + hit[0].length;
    }
    const last = prompt.slice(from);
    yield* splitRun(stripNext ? last.trimStart() : last);
  }

  async #tokenizeRuns(runs: Iterable<string | ControlToken>, most: number, slice: TimeSlice): Promise<number[]> {
    const tokens: number[] = [];
    for (const run of runs) {
      if (typeof run !== 'string') tokens.push(run.token);
      else {
        for (const tokenText of this.#splitter.split(run)) {
          // Not spread into a call: the lists may exceed the maximum number of arguments.
          for (const token of this.tokenize(tokenText)) tokens.push(token);
          if (tokens.length > most) return tokens;
          if (slice.isOver) await slice.next();
        }
      }
    }
    return tokens;
  }

  /**
   * Returns the control token or user-defined token with this spelling, such as `<tool_call>`; null when there is none.
   */
  definedToken(text: string): number | null {
    return this.#defined.get(text) ?? null;
  }
}
