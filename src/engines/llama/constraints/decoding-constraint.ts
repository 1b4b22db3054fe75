import type { LlamaContext, LlamaGrammar } from 'node-llama-cpp';
import { type ApiError, invalidValue } from '../../../errors.ts';
import type { GrammarElements } from '../grammar/gbnf/elements.ts';
import { ParseStacks } from '../grammar/gbnf/parse-stacks.ts';
import { GrammarState } from '../runtime/bindings.ts';
import type { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import { Utf8Decoder } from '../tokenizer/utf8-decoder.ts';

/**
 * What one sampling may cost, in candidate tokens that llama.cpp compares with a stack: 5 ns each, so that others wait
 * 0.2 s at most. Valid answers to the schemas of JSONSchemaBench cost a tenth of it with the largest vocabularies.
 */
export const MAX_SAMPLING_COST = 40_000_000;
/** What a visit to a stack costs beside the tokens that are compared there. */
const VISIT_COST = 1_000;
/** Visits to stacks for one token: bounds how much the next token can multiply them. */
const MAX_VISITS = 8_192;

/** A grammar that answers are held to. */
export interface CompiledGrammar {
  native: LlamaGrammar;
  elements: GrammarElements;
  /** The field of the request that the grammar is made from. */
  path: string;
}

/** 400 for a schema whose alternatives cannot be told apart soon enough. */
const tooAmbiguous = (path: string): ApiError =>
  invalidValue(
    path,
    "is too ambiguous to be enforced: too many of its alternatives begin alike; make those of 'anyOf' and 'oneOf' differ earlier",
  );

/** Throws 400 where not even the first token of an answer can be sampled in time. */
export function requireAffordable(
  { elements, path }: Omit<CompiledGrammar, 'native'>,
  tokenizer: LlamaTokenizer,
): void {
  const stacks = new ParseStacks(elements, MAX_VISITS);
  if (samplingCost(stacks, tokenizer) > MAX_SAMPLING_COST) throw tooAmbiguous(path);
}

function samplingCost(stacks: ParseStacks, tokenizer: LlamaTokenizer): number {
  return stacks.count * tokenizer.size + stacks.cost * VISIT_COST;
}

/** How far a grammar has been followed in one answer, and what it costs to go on. */
export class DecodingConstraint {
  readonly #tokenizer: LlamaTokenizer;
  readonly #path: string;
  readonly #stacks: ParseStacks;
  readonly #pieces = new Utf8Decoder();
  #cost = 0;
  /** The native state: a sampler follows it with every token that it draws. */
  readonly state: GrammarState;

  constructor(context: LlamaContext, tokenizer: LlamaTokenizer, { native, elements, path }: CompiledGrammar) {
    this.#tokenizer = tokenizer;
    this.#path = path;
    this.#stacks = new ParseStacks(elements, MAX_VISITS);
    this.#count();
    this.state = new GrammarState(context, native);
  }

  /** Cost of the next sampling, in the unit of `MAX_SAMPLING_COST`. */
  get cost(): number {
    return this.#cost;
  }

  /** Takes text that was made before the grammar was in force; false when it does not allow that. */
  accept(text: string): boolean {
    if (!this.#stacks.follow(text)) return false;
    this.#count();
    return this.state.accept(this.#tokenizer.tokenize(text));
  }

  /** Takes a token that the sampler drew. Throws 400 when the next sampling would hold up others for too long. */
  follow(token: number): void {
    const text = this.#pieces.push(this.#tokenizer.tokenText(token).bytes);
    if (text === '') return;
    if (!this.#stacks.follow(text) && this.#stacks.cost === 0) {
      throw new Error(`A grammar does not take '${text}', which llama.cpp drew under it.`);
    }
    this.#count();
  }

  #count(): void {
    this.#cost = samplingCost(this.#stacks, this.#tokenizer);
    if (this.#cost > MAX_SAMPLING_COST) throw tooAmbiguous(this.#path);
  }
}
