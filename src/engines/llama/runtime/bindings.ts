/**
 * The only file that uses internals of node-llama-cpp: its native bindings, of the pinned version. The batching of the
 * package assigns tokens sequence by sequence, so that the last one misses the next batch; Quire plans each step for
 * all slots. `bindings.test.ts` fails when a new version of the package changes what is used here.
 */
import type { LlamaContext, LlamaGrammar, LlamaModel, Token } from 'node-llama-cpp';

/**
 * Prompt tokens per tile of llama.cpp's flash attention (`GGML_FA_TILE_Q`). A smaller batch is computed token by token:
 * three times as slow per token at 2,000 tokens of context.
 */
export const ATTENTION_TILE_TOKENS = 64;

/** Tokens of one slot in a step, from `position` on. */
export interface StepItem {
  slot: number;
  position: number;
  tokens: readonly number[];
  /** Indices into `tokens`, ascending, whose logits are needed. */
  outputs: readonly number[];
}

/** Sampling parameters. They may change from token to token. */
export interface SamplerConfig {
  /** 0: greedy. */
  temperature: number;
  /** 1: off. */
  topP: number;
  /** 32 bits. Applied with the first token; the state of the generator then continues. */
  seed: number;
  /** Added to the logits, by token. */
  bias: ReadonlyMap<number, number>;
  grammar: GrammarState | null;
}

/**
 * A token with its natural-log probability. Of a sampled token: after bias and grammar, before temperature and top-p,
 * so that a greedy choice is the likeliest token. Of a token that is only scored: under the model's own distribution.
 */
export interface Likelihood {
  token: number;
  logprob: number;
}

/** Result of one sampling. */
export interface Sampled {
  token: number;
  logprob: number | null;
  /** In descending order. */
  top: Likelihood[];
}

interface AddonSampler {
  applyConfig(config: Record<string, unknown>): void;
}

type RawSample = [token: number, probabilities: unknown, confidence: unknown, logits?: number[], weight?: number];

interface AddonContext {
  initBatch(size: number): void;
  addToBatch(sequence: number, position: number, tokens: Uint32Array, sampled: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  sampleToken(index: number, sampler: AddonSampler, ...wanted: unknown[]): Promise<number | RawSample>;
  disposeSequence(sequence: number): void;
  removeTokenCellsFromSequence(sequence: number, start: number, end: number): boolean;
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>;
  saveSequenceStateToFile(path: string, sequence: number, tokens: Uint32Array): Promise<number>;
  loadSequenceStateFromFile(path: string, sequence: number, maxTokens: number): Promise<Uint32Array>;
  setThreads(threads: number): void;
  getEmbedding(tokens: number): Float64Array;
}

interface AddonBindings {
  AddonSampler: {
    new (model: object): AddonSampler;
    acceptGrammarEvaluationStateToken(state: object, token: number): void;
    canBeNextTokenForGrammarEvaluationState(state: object, token: number): boolean;
  };
  /** With one argument: a copy of a state. */
  AddonGrammarEvaluationState: new (
    modelOrState: object,
    grammar?: object,
  ) => object;
}

interface Internals {
  context: AddonContext;
  model: { getTokenString(token: number): string | undefined; getTotalParameters(): number; [key: string]: unknown };
  bindings: AddonBindings;
}

function internals(context: LlamaContext): Internals {
  const outer = context as unknown as { _ctx?: AddonContext };
  const model = context.model as unknown as { _model?: Internals['model'] };
  const llama = context.model.llama as unknown as { _bindings?: AddonBindings };
  if (outer._ctx === undefined || model._model === undefined || llama._bindings === undefined) {
    throw new Error(
      'This version of node-llama-cpp has no bindings where Quire looks for them; install the pinned one.',
    );
  }
  return { context: outer._ctx, model: model._model, bindings: llama._bindings };
}

/** State of a grammar in one completion. */
export class GrammarState {
  readonly #bindings: AddonBindings;
  readonly addon: object;
  readonly #canCopy: () => boolean;

  /** `canCopy`: whether `copy` takes milliseconds at most; see there. */
  constructor(context: LlamaContext, grammar: LlamaGrammar, canCopy: () => boolean) {
    this.#canCopy = canCopy;
    const { bindings, model } = internals(context);
    const inner = (grammar as unknown as { _grammar: object })._grammar;
    this.#bindings = bindings;
    this.addon = new bindings.AddonGrammarEvaluationState(model, inner);
  }

  /** A copy of the native state; null if it takes too long: it compares each grammar element with each stack. */
  copy(): object | null {
    return this.#canCopy() ? new this.#bindings.AddonGrammarEvaluationState(this.addon) : null;
  }

  /** Advances the state by tokens that were generated without the grammar. False when the grammar rejects them. */
  accept(tokens: readonly number[]): boolean {
    for (const token of tokens) {
      if (!this.#bindings.AddonSampler.canBeNextTokenForGrammarEvaluationState(this.addon, token)) return false;
      this.#bindings.AddonSampler.acceptGrammarEvaluationStateToken(this.addon, token);
    }
    return true;
  }
}

/**
 * Free native samplers, by model. Each has a buffer of vocabulary size that only the garbage collector frees, so
 * samplers are reused. There are never more than concurrent completions.
 */
const freeSamplers = new WeakMap<Internals['model'], AddonSampler[]>();

function takeSampler({ model, bindings }: Internals, seed: number): AddonSampler {
  const free = freeSamplers.get(model) ?? [];
  freeSamplers.set(model, free);
  const sampler = free.pop() ?? new bindings.AddonSampler(model);
  // A sampler keeps its generator state when it is given its current seed, so it gets another one first.
  sampler.applyConfig({ temperature: 0, seed: (seed ^ 1) >>> 0 });
  return sampler;
}

/** The context of a model. It is replaced between steps when the number of slots changes. */
export interface ContextRef {
  readonly current: LlamaContext;
}

/** Samples the tokens of one completion. Call `release` at its end. */
export class TokenSampler {
  readonly #context: ContextRef;
  readonly #sampler: AddonSampler;
  /** Greedy: reads log probabilities. */
  readonly #observer: AddonSampler | null;
  readonly #top: number;
  #config: SamplerConfig;
  /** Native calls in progress on another thread. The samplers are not reused before they return. */
  #busy = 0;
  #released = false;

  /** `logprobs`: number of alternatives per token; null: no log probabilities. */
  constructor(context: ContextRef, config: SamplerConfig, logprobs: number | null) {
    const inside = internals(context.current);
    this.#context = context;
    this.#sampler = takeSampler(inside, config.seed);
    this.#observer = logprobs === null ? null : takeSampler(inside, config.seed);
    this.#top = logprobs ?? 0;
    this.#config = config;
    this.configure(config);
  }

  /** Sets the parameters from the next token on. */
  configure(config: SamplerConfig): void {
    this.#config = config;
    this.#sampler.applyConfig({
      temperature: config.temperature,
      seed: config.seed,
      ...(config.topP < 1 ? { topP: config.topP } : {}),
      ...biasConfig(config.bias),
      ...(config.grammar === null ? {} : { grammarEvaluationState: config.grammar.addon }),
    });
  }

  /** Returns the log probability of `token` under the model's own distribution, at an index that `decode` returned. */
  async scoreToken(index: number, token: number): Promise<Sampled> {
    return this.#exclusively(async () => {
      this.#observer?.applyConfig(NEUTRAL);
      return this.#observer === null ? unscored(token) : this.#score(index, token, this.#observer);
    });
  }

  /** Samples a token at an index that `decode` returned. Throws when the grammar allows none. */
  async sample(index: number): Promise<Sampled> {
    return this.#exclusively(() => this.#draw(index));
  }

  async #exclusively(work: () => Promise<Sampled>): Promise<Sampled> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      if (this.#released) this.#giveBack();
    }
  }

  async #draw(index: number): Promise<Sampled> {
    const { temperature, bias, grammar } = this.#config;
    // A greedy sampler chooses the token with the largest of these logits.
    if (this.#observer !== null && temperature === 0) return this.#score(index, null, this.#sampler);
    // Before the sampler advances the state.
    const before = this.#observer === null ? null : (grammar?.copy() ?? null);
    const { context } = internals(this.#context.current);
    const token = requireToken((await context.sampleToken(index, this.#sampler)) as number);
    if (this.#observer === null) return unscored(token);
    this.#observer.applyConfig({
      ...NEUTRAL,
      ...biasConfig(bias),
      ...(before === null ? {} : { grammarEvaluationState: before }),
    });
    return this.#score(index, token, this.#observer);
  }

  /** Returns a token with its log probability under the distribution of a greedy sampler. Null: the likeliest token. */
  async #score(index: number, scored: number | null, sampler: AddonSampler): Promise<Sampled> {
    // At least one alternative: the first has the largest logit, to which the total weight is relative.
    const filter = [scored === null ? [] : [scored], false, false, scored === null, Math.max(1, this.#top)];
    const { context } = internals(this.#context.current);
    const raw = (await context.sampleToken(index, sampler, false, false, filter, true)) as number | RawSample;
    if (typeof raw === 'number') throw new Error(NO_TOKEN);
    const token = scored ?? requireToken(raw[0]);
    return { token, ...likelihoods(raw, token, this.#top) };
  }

  /** Returns the native samplers to the pool, after a sampling in progress. May be called twice. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#busy > 0) return;
    const free = freeSamplers.get(internals(this.#context.current).model);
    for (const sampler of [this.#sampler, this.#observer]) {
      if (sampler === null) continue;
      // Drops the reference to the grammar.
      sampler.applyConfig({ temperature: 0, seed: 0 });
      free?.push(sampler);
    }
  }
}

/** The model's own distribution. */
const NEUTRAL = { temperature: 0, seed: 0 };
const NO_TOKEN = 'The grammar and the logit bias exclude all tokens.';

const unscored = (token: number): Sampled => ({ token, logprob: null, top: [] });

function requireToken(token: number): number {
  if (token < 0) throw new Error(NO_TOKEN);
  return token;
}

function biasConfig(bias: ReadonlyMap<number, number>): object {
  if (bias.size === 0) return {};
  return { tokenBiasKeys: Uint32Array.from(bias.keys()), tokenBiasValues: Float32Array.from(bias.values()) };
}

function likelihoods(raw: RawSample, token: number, top: number): { logprob: number; top: Likelihood[] } {
  const logits = raw[3] ?? [];
  const highest = logits[1] ?? 0;
  const total = Math.log(raw[4] ?? 1);
  const byToken = new Map<number, number>();
  for (let i = 0; i + 1 < logits.length; i += 2) byToken.set(logits[i] ?? 0, (logits[i + 1] ?? 0) - highest - total);
  // Tokens that the grammar excludes are no alternatives.
  const listed = [...byToken]
    .map(([id, logprob]) => ({ token: id, logprob }))
    .filter(({ logprob }) => logprob > -Infinity);
  return { logprob: byToken.get(token) ?? Number.NEGATIVE_INFINITY, top: listed.slice(0, top) };
}

/**
 * Computes one step of several slots. Items must be in ascending order of slot, or llama.cpp splits the batch. Resolves
 * with the indices to sample at, for each output of each item.
 */
export async function decode(context: LlamaContext, items: readonly StepItem[]): Promise<Uint32Array[]> {
  const { context: addon } = internals(context);
  addon.initBatch(items.reduce((sum, item) => sum + item.tokens.length, 0));
  const indices = items.map(({ slot, position, tokens, outputs }) =>
    addon.addToBatch(slot, position, Uint32Array.from(tokens), Uint32Array.from(outputs)),
  );
  await addon.decodeBatch();
  return indices;
}

/**
 * Removes the tokens of a sequence from `length` on. False when the memory of the model cannot be truncated there
 * (recurrent layers, a sliding window that has moved on): then all tokens are removed. Only between two calls of
 * `decode`.
 */
export function truncate(context: LlamaContext, sequence: number, length: number): boolean {
  const { context: addon } = internals(context);
  if (length > 0 && addon.removeTokenCellsFromSequence(sequence, length, -1)) return true;
  addon.disposeSequence(sequence);
  return length === 0;
}

/** Sets the number of compute threads. Only between two calls of `decode`. */
export function setThreads(context: LlamaContext, threads: number): void {
  internals(context).context.setThreads(threads);
}

/**
 * Replaces the state of `target` by that of `source`. llama.cpp copies the whole KV cache of the sequence, however
 * little is used, at the start of the next `decode`; until then neither may be saved. Only between two calls of
 * `decode`.
 */
export async function copySequence(context: LlamaContext, source: number, target: number): Promise<void> {
  await internals(context).context.copySequenceStateFromOtherSequence(target, source);
}

/**
 * Writes the state of a sequence, which holds `tokens`, to a file. Resolves with the bytes written. Only between two
 * calls of `decode`.
 */
export function saveSequence(
  context: LlamaContext,
  sequence: number,
  tokens: readonly number[],
  path: string,
): Promise<number> {
  return internals(context).context.saveSequenceStateToFile(path, sequence, Uint32Array.from(tokens));
}

/**
 * Replaces the state of a sequence by that of a file. Resolves with its tokens. Rejects, with an empty sequence, when
 * the file cannot be read. Only between two calls of `decode`.
 */
export async function loadSequence(context: LlamaContext, sequence: number, path: string): Promise<number[]> {
  try {
    return [...(await internals(context).context.loadSequenceStateFromFile(path, sequence, context.contextSize))];
  } catch (error) {
    truncate(context, sequence, 0);
    throw error;
  }
}

/**
 * Creates a context that pools its input into one list of numbers: an embedding or, with `scores`, the output of the
 * classification head. It has one sequence, because the bindings return the output of the first one only, and takes up
 * to `tokens` at once, as bidirectional attention requires. The classes of the package omit special tokens that some
 * models need.
 */
export async function createPoolingContext(
  model: LlamaModel,
  { tokens, threads, scores }: { tokens: number; threads: number; scores: boolean },
): Promise<LlamaContext> {
  const inside = { _embeddings: true, _ranking: scores };
  return model.createContext({
    sequences: 1,
    contextSize: tokens,
    batchSize: tokens,
    threads,
    ignoreMemorySafetyChecks: true,
    failedCreationRemedy: false,
    ...inside,
  });
}

/** Computes the pooled output of tokens. One call at a time. */
export async function computePooled(context: LlamaContext, tokens: readonly number[]): Promise<Float64Array> {
  const { context: addon } = internals(context);
  addon.disposeSequence(0);
  addon.initBatch(tokens.length);
  addon.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
  await addon.decodeBatch();
  return addon.getEmbedding(tokens.length);
}

/** Returns the spelling of a token in the vocabulary, such as `▁the` or `Ġthe`. */
export function tokenSpelling(model: LlamaModel, token: number): string {
  const inner = (model as unknown as { _model?: Internals['model'] })._model;
  return inner?.getTokenString(token) ?? '';
}

/** Returns the number of parameters of the model. */
export function parameterCount(context: LlamaContext): number {
  return internals(context).model.getTotalParameters();
}

/** Casts a number to the branded type of the package. */
export const asToken = (token: number): Token => token as Token;
