import { type GrammarElements, ParseStacks, type TextPosition } from '@quire/json-schema-grammar';
import type { LlamaContext, LlamaGrammar } from 'node-llama-cpp';
import { type ApiError, invalidValue } from '../../../errors.ts';
import { GrammarState } from '../runtime/bindings.ts';
import type { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import { Utf8Decoder } from '../tokenizer/utf8-decoder.ts';

/**
 * Maximum cost of one sampling, in candidate tokens that llama.cpp matches against a parse stack (5 ns each): others
 * wait 0.2 s at most. Completions for the schemas of JSONSchemaBench cost a tenth of it with the largest vocabularies.
 */
export const MAX_SAMPLING_COST = 40_000_000;
/** Fixed cost of visiting a parse stack. */
const VISIT_COST = 1_000;
/** Maximum stack visits per token: bounds how much one token can multiply the stacks. */
const MAX_VISITS = 8_192;
/** Tokens that one more character can take, which cannot be replaced by an end once its first byte is written. */
const MAX_CHARACTER_TOKENS = 4;
/** Maximum elements of a grammar times elements of its stacks when the state is copied: 5 ms. */
const MAX_COPY_COST = 5_000_000;
/** Longer ends, of schemas with many required properties, are not written. */
const MAX_END_CHARACTERS = 20_000;

/** A grammar that constrains completions. */
export interface CompiledGrammar {
  native: LlamaGrammar;
  elements: GrammarElements;
  /** The request field that the grammar is made from. */
  path: string;
  /** Whether a text at its token limit is completed in the shortest way: JSON, which is worthless otherwise. */
  closes: boolean;
}

/** 400 for a schema whose alternatives share too long a prefix. */
const tooAmbiguous = (path: string): ApiError =>
  invalidValue(
    path,
    "is too ambiguous to be enforced: too many of its alternatives begin alike; make those of 'anyOf' and 'oneOf' differ earlier",
  );

/** Throws 400 when sampling the first token would exceed the cost limit. */
export function requireAffordable(
  { elements, path }: Pick<CompiledGrammar, 'elements' | 'path'>,
  tokenizer: LlamaTokenizer,
): void {
  const stacks = new ParseStacks(elements, MAX_VISITS);
  if (samplingCost(stacks, tokenizer) > MAX_SAMPLING_COST) throw tooAmbiguous(path);
}

function samplingCost(stacks: ParseStacks, tokenizer: LlamaTokenizer): number {
  return stacks.count * tokenizer.size + stacks.cost * VISIT_COST;
}

/** State of a grammar in one completion, and the cost of sampling under it. */
export class DecodingConstraint {
  readonly #tokenizer: LlamaTokenizer;
  readonly #path: string;
  readonly #stacks: ParseStacks;
  readonly #pieces = new Utf8Decoder();
  #cost = 0;
  #closes: boolean;
  /** The native state, which the sampler advances with every token. */
  readonly state: GrammarState;

  constructor(context: LlamaContext, tokenizer: LlamaTokenizer, { native, elements, path, closes }: CompiledGrammar) {
    this.#tokenizer = tokenizer;
    this.#path = path;
    this.#closes = closes;
    this.#stacks = new ParseStacks(elements, MAX_VISITS);
    this.#count();
    const copied = Math.floor(MAX_COPY_COST / elements.code.length);
    this.state = new GrammarState(context, native, () => this.#stacks.entries(copied) <= copied);
  }

  /** Cost of the next sampling, in the unit of `MAX_SAMPLING_COST`. */
  get cost(): number {
    return this.#cost;
  }

  /** Advances the state by text that was generated without the grammar. False when the grammar rejects it. */
  accept(text: string): boolean {
    if (!this.#stacks.follow(text)) return false;
    this.#count();
    return this.state.accept(this.#tokenizer.tokenize(text));
  }

  /**
   * Advances the state by a sampled token, before `remainingTokens` others. Throws 400 when the next sampling would
   * exceed the cost limit. Returns the tokens to end with instead of this one, when the text could not be completed
   * behind it; otherwise null.
   */
  follow(token: number, remainingTokens: number): number[] | null {
    const before = this.#stacks.position;
    const { isComplete } = this.#pieces;
    const text = this.#pieces.push(this.#tokenizer.tokenText(token).bytes);
    if (text === '') return null;
    if (!this.#stacks.follow(text) && this.#stacks.cost === 0) {
      throw new Error(`The grammar rejects '${text}', which llama.cpp sampled under it.`);
    }
    this.#count();
    if (!this.#closes || this.#canEnd(remainingTokens - MAX_CHARACTER_TOKENS)) return null;
    const end = isComplete ? this.#endTokens(before) : null;
    if (end !== null && end.length <= remainingTokens + 1) return end;
    // The limit is too low for any complete text.
    this.#closes = false;
    return null;
  }

  /** Whether the text so far can be completed within a number of tokens. */
  #canEnd(tokens: number): boolean {
    const { position } = this.#stacks;
    // A token has at least one character of an end, which is ASCII.
    if (this.#stacks.endLength(position) <= tokens) return true;
    return (this.#endTokens(position)?.length ?? Number.POSITIVE_INFINITY) <= tokens;
  }

  /** Null: the tokenizer cannot write the end, such as one that inserts a space before it. */
  #endTokens(position: TextPosition): number[] | null {
    if (this.#stacks.endLength(position) > MAX_END_CHARACTERS) return null;
    const text = this.#stacks.endText(position);
    const tokens = this.#tokenizer.tokenize(text);
    const written = Buffer.concat(tokens.map((token) => this.#tokenizer.tokenText(token).bytes)).toString();
    return written === text && tokens.length > 0 ? tokens : null;
  }

  #count(): void {
    this.#cost = samplingCost(this.#stacks, this.#tokenizer);
    if (this.#cost > MAX_SAMPLING_COST) throw tooAmbiguous(this.#path);
  }
}
