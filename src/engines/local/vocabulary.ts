import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp';
import { asToken, tokenSpelling } from './native.ts';

/** A token that steers the model and is no text, such as `<|user|>`. */
export interface ControlToken {
  token: number;
  text: string;
  /** Takes the white space before it, or after it, with it. */
  stripsBefore: boolean;
  stripsAfter: boolean;
}

/** The bytes that a token adds to an answer. */
export interface Piece {
  bytes: Uint8Array;
  control: boolean;
}

/** GPT-2's printable stand-ins for bytes: the source is `bytes_to_unicode` of its encoder. */
function byteOfSymbol(): Map<string, number> {
  const symbols = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    symbols.set(String.fromCodePoint(printable ? byte : next++), byte);
  }
  return symbols;
}

const SYMBOLS = byteOfSymbol();
const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/;

/** What the tokens of a model mean: their bytes, which of them steer, and text to tokens without obeying the text. */
export class Vocabulary {
  readonly #model: LlamaModel;
  readonly #pieces = new Map<number, Piece>();
  readonly controls: readonly ControlToken[];
  readonly size: number;
  readonly #controlOfText: ReadonlyMap<string, ControlToken>;
  readonly #defined = new Map<string, number>();
  readonly #controlPattern: RegExp;

  constructor(model: LlamaModel) {
    this.#model = model;
    this.size = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
    this.controls = this.#findControls();
    this.#controlOfText = new Map(this.controls.map((control) => [control.text, control]));
    // The longest stand first, so that of two at one place the longer one wins. No alternative at all matches nowhere.
    const texts = this.controls.map((control) => RegExp.escape(control.text));
    this.#controlPattern = new RegExp(texts.join('|') || '(?!)', 'g');
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

  isEndOfAnswer(token: number): boolean {
    return this.#model.isEogToken(asToken(token));
  }

  /** The bytes that `token` stands for. A control token gives its own spelling. */
  piece(token: number): Piece {
    const known = this.#pieces.get(token);
    if (known !== undefined) return known;
    const piece = this.#makePiece(token);
    this.#pieces.set(token, piece);
    return piece;
  }

  #makePiece(token: number): Piece {
    const spelling = tokenSpelling(this.#model, token);
    const attributes = this.#model.getTokenAttributes(asToken(token));
    const control = attributes.control || attributes.unknown;
    if (control || attributes.userDefined) return { bytes: Buffer.from(spelling), control };
    const type = this.#model.vocabularyType;
    if (type === LlamaVocabularyType.bpe) return { bytes: bytesOfSymbols(spelling), control };
    const byte = BYTE_TOKEN.exec(spelling);
    if (byte?.[1] !== undefined) return { bytes: Uint8Array.of(Number.parseInt(byte[1], 16)), control };
    if (type === LlamaVocabularyType.spm || type === LlamaVocabularyType.ugm) {
      return { bytes: Buffer.from(spelling.replaceAll('▁', ' ')), control };
    }
    return { bytes: Buffer.from(this.#model.detokenize([asToken(token)], true)), control };
  }

  /** Tokens of text that has no power: what looks like a control token in it stays text. */
  tokenizePlain(text: string): number[] {
    return text === '' ? [] : this.#model.tokenize(text, false);
  }

  /**
   * Tokens of a rendered prompt, whose control tokens count. Between them runs of text are tokenised whole, but cut at
   * `mark`, which was put into the callers' texts to keep them from being control tokens, and is left out.
   */
  tokenizePrompt(prompt: string, mark: string | null): number[] {
    const tokens: number[] = [];
    const addRun = (run: string): void => {
      for (const part of mark === null ? [run] : run.split(mark)) {
        for (const token of this.tokenizePlain(part)) tokens.push(token);
      }
    };
    let from = 0;
    let stripNext = false;
    for (const hit of prompt.matchAll(this.#controlPattern)) {
      const control = this.#controlOfText.get(hit[0]);
      if (control === undefined) continue;
      let run = prompt.slice(from, hit.index);
      if (stripNext) run = run.trimStart();
      addRun(control.stripsBefore ? run.trimEnd() : run);
      tokens.push(control.token);
      stripNext = control.stripsAfter;
      from = hit.index + hit[0].length;
    }
    const last = prompt.slice(from);
    addRun(stripNext ? last.trimStart() : last);
    return tokens;
  }

  /** The token that was defined with this spelling, be it a control token or one that is text, such as `<tool_call>`. */
  definedToken(text: string): number | null {
    return this.#defined.get(text) ?? null;
  }
}

function bytesOfSymbols(spelling: string): Uint8Array {
  const bytes: number[] = [];
  for (const symbol of spelling) {
    const byte = SYMBOLS.get(symbol);
    if (byte !== undefined) bytes.push(byte);
    else bytes.push(...Buffer.from(symbol));
  }
  return Uint8Array.from(bytes);
}
