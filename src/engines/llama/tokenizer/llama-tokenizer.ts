import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp';
import { asToken, tokenSpelling } from '../runtime/bindings.ts';
import { decodeByteSymbols } from './byte-symbols.ts';
import { TextSplitter } from './text-splitter.ts';

/** A token that steers the model and is no text, such as `<|user|>`. */
export interface ControlToken {
  token: number;
  text: string;
  /** Takes the white space before it, or after it, with it. */
  stripsBefore: boolean;
  stripsAfter: boolean;
}

/** The bytes that a token adds to an answer. */
export interface TokenText {
  bytes: Uint8Array;
  control: boolean;
}

const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/;

/** What tokenising may take before others have their turn: steps of running answers, and messages. */
const YIELD_INTERVAL_MS = 5;

/** What the tokens of a model mean: their bytes, which of them steer, and text to tokens without obeying the text. */
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
    // The longest stand first, so that of two at one place the longer one wins. No alternative at all matches nowhere.
    const texts = this.controlTokens.map((control) => RegExp.escape(control.text));
    this.#controlPattern = new RegExp(texts.join('|') || '(?!)', 'g');
    this.#splitter = new TextSplitter(model, (text) => this.tokenize(text));
  }

  #findControls(): ControlToken[] {
    const found: ControlToken[] = [];
    for (let token = 0; token < this.size; token++) {
      const attributes = this.#model.getTokenAttributes(asToken(token));
      if (!attributes.control && !attributes.unknown && !attributes.userDefined) continue;
      const text = tokenSpelling(this.#model, token);
      if (text === '') continue;
      this.#defined.set(text, token);
      if (attributes.userDefined) continue;
      found.push({ token, text, stripsBefore: attributes.lstrip, stripsAfter: attributes.rstrip });
    }
    return found.sort((a, b) => b.text.length - a.text.length);
  }

  isEndOfGeneration(token: number): boolean {
    return this.#model.isEogToken(asToken(token));
  }

  /** The bytes that `token` stands for. A control token gives its own spelling. */
  tokenText(token: number): TokenText {
    const known = this.#pieces.get(token);
    if (known !== undefined) return known;
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

  /** Tokens of text that has no power: what looks like a control token in it stays text. */
  tokenize(text: string): number[] {
    return text === '' ? [] : this.#model.tokenize(text, false);
  }

  /** As `tokenize`, in pieces between which others have their turn. Ends soon after `most` tokens. */
  async tokenizeText(text: string, most: number): Promise<number[]> {
    return this.#tokenizeRuns([text], most);
  }

  /**
   * Tokens of a rendered prompt, whose control tokens count. Between them runs of text are tokenised as if whole, but
   * cut at `mark`, which was put into the callers' texts to keep them from being control tokens, and is left out. Ends
   * soon after `most` tokens, and lets others have their turn while it works.
   */
  async tokenizePrompt(prompt: string, mark: string | null, most: number): Promise<number[]> {
    return this.#tokenizeRuns(this.#runs(prompt, mark), most);
  }

  /** A prompt as control tokens and the texts between them. */
  *#runs(prompt: string, mark: string | null): Generator<string | ControlToken, void, undefined> {
    const partsOf = (run: string): string[] => (mark === null ? [run] : run.split(mark));
    let from = 0;
    let stripNext = false;
    for (const hit of prompt.matchAll(this.#controlPattern)) {
      const control = this.#controlOfText.get(hit[0]);
      if (control === undefined) continue;
      let run = prompt.slice(from, hit.index);
      if (stripNext) run = run.trimStart();
      yield* partsOf(control.stripsBefore ? run.trimEnd() : run);
      yield control;
      stripNext = control.stripsAfter;
      from = hit.index + hit[0].length;
    }
    const last = prompt.slice(from);
    yield* partsOf(stripNext ? last.trimStart() : last);
  }

  async #tokenizeRuns(runs: Iterable<string | ControlToken>, most: number): Promise<number[]> {
    const tokens: number[] = [];
    let yieldAt = performance.now() + YIELD_INTERVAL_MS;
    for (const run of runs) {
      if (typeof run !== 'string') tokens.push(run.token);
      else {
        for (const tokenText of this.#splitter.split(run)) {
          // Not spread into a call: these lists may be longer than a call may have arguments.
          for (const token of this.tokenize(tokenText)) tokens.push(token);
          if (tokens.length > most) return tokens;
          if (performance.now() < yieldAt) continue;
          await yieldToEventLoop();
          yieldAt = performance.now() + YIELD_INTERVAL_MS;
        }
      }
    }
    return tokens;
  }

  /** The token that was defined with this spelling, be it a control token or one that is text, such as `<tool_call>`. */
  definedToken(text: string): number | null {
    return this.#defined.get(text) ?? null;
  }
}
