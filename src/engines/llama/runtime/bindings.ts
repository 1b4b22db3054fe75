/**
 * The one file that touches what node-llama-cpp keeps to itself: its bindings to llama.cpp, of the pinned version.
 * Its own batching hands out tokens sequence by sequence, so that the last one misses the next batch; ours decides
 * once a step for all of them. `bindings.test.ts` fails when a new version of the package moves what is used here.
 */
import type { LlamaContext, LlamaGrammar, LlamaModel, Token } from 'node-llama-cpp';

/**
 * Tokens of a prompt that llama.cpp's flash attention computes together (`GGML_FA_TILE_Q`). A smaller batch is computed token by token, which at
 * 2,000 tokens of context takes three times as long for each token.
 */
export const ATTENTION_TILE_TOKENS = 64;

/** Tokens of one sequence for the next step, beginning at `position` of its context. */
export interface StepItem {
  slot: number;
  position: number;
  tokens: readonly number[];
  /** The places within `tokens` after which a token is to be sampled or judged, ascending. */
  outputs: readonly number[];
}

/** What the sampler is to do for one answer; may change from token to token. */
export interface SamplerConfig {
  /** 0 is greedy. */
  temperature: number;
  /** 1 is off. */
  topP: number;
  /** 32 bits. Takes effect with the first token of an answer; the generator's state then goes on. */
  seed: number;
  /** Added to the logits of tokens. */
  bias: ReadonlyMap<number, number>;
  grammar: GrammarState | null;
}

/** A token with its natural-log probability under the model's own distribution: no temperature, bias or grammar. */
export interface Likelihood {
  token: number;
  logprob: number;
}

/** What one sampling gave. */
export interface Sampled {
  token: number;
  logprob: number | null;
  /** Descending. */
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
  AddonGrammarEvaluationState: new (model: object, grammar: object) => object;
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

/** How far a grammar has been followed in one answer. */
export class GrammarState {
  readonly #bindings: AddonBindings;
  readonly addon: object;

  constructor(context: LlamaContext, grammar: LlamaGrammar) {
    const { bindings, model } = internals(context);
    const inner = (grammar as unknown as { _grammar: object })._grammar;
    this.#bindings = bindings;
    this.addon = new bindings.AddonGrammarEvaluationState(model, inner);
  }

  /** Takes tokens that were made before the grammar was in force; false when it does not allow them. */
  accept(tokens: readonly number[]): boolean {
    for (const token of tokens) {
      if (!this.#bindings.AddonSampler.canBeNextTokenForGrammarEvaluationState(this.addon, token)) return false;
      this.#bindings.AddonSampler.acceptGrammarEvaluationStateToken(this.addon, token);
    }
    return true;
  }
}

/**
 * Samplers that are free, by context. Each has a buffer as large as the vocabulary, which is given back only when the
 * garbage collector comes by; so they are used again instead. There are never more than answers under way.
 */
const freeSamplers = new WeakMap<Internals['model'], AddonSampler[]>();

function takeSampler({ model, bindings }: Internals, seed: number): AddonSampler {
  const free = freeSamplers.get(model) ?? [];
  freeSamplers.set(model, free);
  const sampler = free.pop() ?? new bindings.AddonSampler(model);
  // Another seed than the one to come: a sampler that is told the seed that it has goes on where it was.
  sampler.applyConfig({ temperature: 0, seed: (seed ^ 1) >>> 0 });
  return sampler;
}

/** The context of a model, which is replaced between steps when the number of slots changes. */
export interface ContextRef {
  readonly current: LlamaContext;
}

/** Draws the tokens of one answer. Release it when the answer ends. */
export class TokenSampler {
  readonly #context: ContextRef;
  readonly #sampler: AddonSampler;
  /** Greedy and without bias: reads the model's own distribution, where log probabilities are wanted. */
  readonly #observer: AddonSampler | null;
  readonly #top: number;
  /** Samplings under way, which run on another thread: nobody else gets the samplers before they are done. */
  #busy = 0;
  #released = false;

  /** `logprobs`: how many alternatives to report with each token; null for no log probabilities at all. */
  constructor(context: ContextRef, config: SamplerConfig, logprobs: number | null) {
    const inside = internals(context.current);
    this.#context = context;
    this.#sampler = takeSampler(inside, config.seed);
    this.#observer = logprobs === null ? null : takeSampler(inside, config.seed);
    this.#top = logprobs ?? 0;
    this.configure(config);
  }

  /** Changes what holds from the next token on. */
  configure(config: SamplerConfig): void {
    this.#sampler.applyConfig({
      temperature: config.temperature,
      seed: config.seed,
      ...(config.topP < 1 ? { topP: config.topP } : {}),
      ...(config.bias.size > 0
        ? {
            tokenBiasKeys: Uint32Array.from(config.bias.keys()),
            tokenBiasValues: Float32Array.from(config.bias.values()),
          }
        : {}),
      ...(config.grammar === null ? {} : { grammarEvaluationState: config.grammar.addon }),
    });
  }

  /** How likely a token was at one of the indices that `decode` gave, whatever was drawn there. */
  async scoreToken(index: number, token: number): Promise<Sampled> {
    return this.#exclusively(() => this.#observe(index, token));
  }

  /** The next token at one of the indices that `decode` gave. Throws when the grammar leaves none. */
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
    const { context } = internals(this.#context.current);
    const token = (await context.sampleToken(index, this.#sampler)) as number;
    if (token < 0) throw new Error('No token can follow: the grammar and the biases exclude all of them.');
    return this.#observe(index, token);
  }

  async #observe(index: number, token: number): Promise<Sampled> {
    if (this.#observer === null) return { token, logprob: null, top: [] };
    // One alternative at least: the first is the largest logit, to which the total weight is relative.
    const filter = [[token], false, false, false, Math.max(1, this.#top)];
    const { context } = internals(this.#context.current);
    const raw = (await context.sampleToken(index, this.#observer, false, false, filter, true)) as RawSample;
    return { token, ...likelihoods(raw, token, this.#top) };
  }

  /** Gives the native samplers to the next answer, after a sampling that is under way. May be called twice. */
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
      // Lets go of the grammar.
      sampler.applyConfig({ temperature: 0, seed: 0 });
      free?.push(sampler);
    }
  }
}

function likelihoods(raw: RawSample, token: number, top: number): { logprob: number; top: Likelihood[] } {
  const logits = raw[3] ?? [];
  const highest = logits[1] ?? 0;
  const total = Math.log(raw[4] ?? 1);
  const byToken = new Map<number, number>();
  for (let i = 0; i + 1 < logits.length; i += 2) byToken.set(logits[i] ?? 0, (logits[i + 1] ?? 0) - highest - total);
  const listed = [...byToken].map(([id, logprob]) => ({ token: id, logprob }));
  return { logprob: byToken.get(token) ?? Number.NEGATIVE_INFINITY, top: listed.slice(0, top) };
}

/**
 * Computes one step for several sequences at once. Items must be in ascending order of sequence: llama.cpp splits a
 * batch where the order breaks. Resolves with the indices to sample at, for each output of each item.
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
 * Forgets what a sequence holds from `length` on. False when the model's memory cannot be cut there (a recurrent one,
 * or a sliding window that has moved on): then all of it is forgotten. Only between two calls of `decode`.
 */
export function truncate(context: LlamaContext, sequence: number, length: number): boolean {
  const { context: addon } = internals(context);
  if (length > 0 && addon.removeTokenCellsFromSequence(sequence, length, -1)) return true;
  addon.disposeSequence(sequence);
  return length === 0;
}

/** Changes how many threads compute the next steps. Only between two calls of `decode`. */
export function setThreads(context: LlamaContext, threads: number): void {
  internals(context).context.setThreads(threads);
}

/**
 * Lets `target` hold what `source` holds, instead of what it held. llama.cpp copies the whole part of the context that
 * belongs to the source, however little of it is used, at the beginning of the next `decode`; until then neither may be
 * saved. Only between two calls of `decode`.
 */
export async function copySequence(context: LlamaContext, source: number, target: number): Promise<void> {
  await internals(context).context.copySequenceStateFromOtherSequence(target, source);
}

/** Writes what a sequence holds, which is `tokens`, to a file. Resolves with its bytes. Only between two `decode`s. */
export function saveSequence(
  context: LlamaContext,
  sequence: number,
  tokens: readonly number[],
  path: string,
): Promise<number> {
  return internals(context).context.saveSequenceStateToFile(path, sequence, Uint32Array.from(tokens));
}

/**
 * Lets a sequence hold what a file does, instead of what it held, and gives these tokens. Rejects when it cannot, and
 * then it holds nothing. Only between two calls of `decode`.
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
 * A context that makes one list of numbers of what it reads: a vector, or, with `scores`, what the model's head says. It
 * has one sequence, for the bindings give the numbers of the first one only, and reads `tokens` at once at most, which a
 * model that looks in both directions must. The package's own classes for this leave out tokens that some models need.
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

/** What a context of `createPoolingContext` makes of tokens. One call at a time. */
export async function computePooled(context: LlamaContext, tokens: readonly number[]): Promise<Float64Array> {
  const { context: addon } = internals(context);
  addon.disposeSequence(0);
  addon.initBatch(tokens.length);
  addon.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
  await addon.decodeBatch();
  return addon.getEmbedding(tokens.length);
}

/** The vocabulary's own spelling of a token, such as `▁the` or `Ġthe`. */
export function tokenSpelling(model: LlamaModel, token: number): string {
  const inner = (model as unknown as { _model?: Internals['model'] })._model;
  return inner?.getTokenString(token) ?? '';
}

/** Number of the model's parameters. */
export function parameterCount(context: LlamaContext): number {
  return internals(context).model.getTotalParameters();
}

/** A plain number as the package's branded type. */
export const asToken = (token: number): Token => token as Token;
