import type { PromptToken, TokenLogprob } from '../../engine.ts';
import { type CompiledGrammar, DecodingConstraint } from '../constraints/decoding-constraint.ts';
import { type OutputEvent, OutputParser } from '../output/output-parser.ts';
import { RepetitionDetector } from '../output/repetition-detector.ts';
import { type Likelihood, type Sampled, type SamplerConfig, TokenSampler } from '../runtime/bindings.ts';
import type { DecodeJob } from '../scheduler/decode-job.ts';
import { Utf8Decoder } from '../tokenizer/utf8-decoder.ts';
import type { LocalModel } from './model.ts';
import type { Prepared } from './prepare-prompt.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/** Input of one completion. */
export interface ChoiceGenerationOptions {
  model: LocalModel;
  request: ConstrainedRequest;
  prepared: Prepared;
  choice: number;
  /** 32 bits. */
  seed: number;
  events: GenerationListener;
}

/** Observes one completion. `ended` or `failed` is called once, last. */
export interface GenerationListener {
  isPaused(): boolean;
  /** `promptLogprobs`: the tokens of the prompt with log probabilities, if requested. */
  promptEnded(cachedTokens: number, promptLogprobs: PromptToken[] | null, queueMs: number): void;
  event(event: OutputEvent): void;
  ended(completionTokens: number): void;
  failed(error: unknown): void;
}

/** One completion (choice) of a request: configures its sampler and turns sampled tokens into events. */
export class ChoiceGeneration implements DecodeJob {
  readonly scope: string;
  readonly cacheScope: string;
  readonly priority: 'interactive' | 'batch';
  readonly prompt: readonly number[];
  readonly reusesPrefix: boolean;
  readonly #parts: ChoiceGenerationOptions;
  readonly #answer: OutputParser;
  readonly #pieces = new Utf8Decoder();
  readonly #maxTokens: number;
  readonly #bias: ReadonlyMap<number, number>;
  readonly #uses = new Map<number, number>();
  readonly #repetition: RepetitionDetector | null;
  #sampler: TokenSampler | null = null;
  #constraint: DecodingConstraint | null = null;
  #configuredConstraint: DecodingConstraint | null = null;
  /** Tokens that complete the text before the token limit; null while the model chooses. */
  #ending: number[] | null = null;
  #tokens = 0;
  readonly #queuedAt = performance.now();
  #queueMs = 0;
  #promptLogprobs: TokenLogprob[] = [];

  constructor(parts: ChoiceGenerationOptions) {
    const { model, request, prepared, choice } = parts;
    this.#parts = parts;
    this.scope = request.scope;
    this.cacheScope = request.cacheScope ?? request.scope;
    this.priority = request.priority;
    this.prompt = prepared.tokens;
    // Prompt log probabilities need the whole prompt to be computed. They are equal for all choices; the first one
    // reports them.
    this.reusesPrefix = !(request.promptLogprobs && choice === 0);
    const room = model.facts.contextTokens - prepared.tokens.length;
    this.#maxTokens = Math.min(request.maxTokens ?? room, room);
    this.#bias = baseBias(parts);
    this.#repetition = request.cutsRepetition ? new RepetitionDetector() : null;
    this.#answer = new OutputParser(
      { choice, stop: request.stop, ...prepared.syntax },
      { onToolCallStart: (rest) => this.#onToolCallStart(rest), onContentStart: (rest) => this.#onContentStart(rest) },
      (event) => parts.events.event(event),
    );
  }

  begin(): void {
    this.#queueMs = performance.now() - this.#queuedAt;
    const { model, request, prepared } = this.#parts;
    const { answerGrammar, syntax } = prepared;
    if (answerGrammar !== null && syntax.reasoning !== 'open') this.#constraint = this.#constrain(answerGrammar);
    this.#sampler = new TokenSampler(model.kv, this.#config(), request.logprobs);
  }

  async scorePromptToken(index: number, token: number): Promise<void> {
    if (this.#sampler === null) throw new Error('A generation was scored before it began.');
    const { logprob, top } = await this.#sampler.scoreToken(index, token);
    this.#promptLogprobs.push(this.#tokenLogprob(token, logprob ?? 0, top));
  }

  async sample(index: number): Promise<Sampled> {
    if (this.#sampler === null) throw new Error('A generation was sampled before it began.');
    if (this.#ending === null) {
      const sampled = await this.#sampler.sample(index);
      if (this.#constraint === null || this.#parts.model.tokenizer.isEndOfGeneration(sampled.token)) return sampled;
      this.#ending = this.#constraint.follow(sampled.token, this.#maxTokens - this.#tokens - 1);
      if (this.#ending === null) return sampled;
    }
    return this.#onlyChoice(this.#ending.shift() ?? 0);
  }

  samplingCost(): number {
    return (this.#constraint?.cost ?? 0) * (this.#parts.request.logprobs === null ? 1 : 2);
  }

  /** Returns the native sampler. May be called twice. */
  release(): void {
    this.#sampler?.release();
  }

  isPaused(): boolean {
    return this.#parts.events.isPaused();
  }

  promptEnded(cachedTokens: number): void {
    const promptLogprobs = this.reusesPrefix ? null : this.#takePromptLogprobs();
    this.#parts.events.promptEnded(cachedTokens, promptLogprobs, this.#queueMs);
    this.#promptLogprobs = [];
  }

  continuesAfter(token: number): boolean {
    if (this.#ending?.length === 0) return false;
    return this.#tokens + 1 < this.#maxTokens && !this.#parts.model.tokenizer.isEndOfGeneration(token);
  }

  accept(sampled: Sampled): boolean {
    const { tokenizer } = this.#parts.model;
    // The scheduler samples once after the prompt, also when no token is wanted.
    if (this.#maxTokens === 0) return this.#end('length');
    if (tokenizer.isEndOfGeneration(sampled.token)) return this.#end('stop');
    this.#tokens += 1;
    this.#uses.set(sampled.token, (this.#uses.get(sampled.token) ?? 0) + 1);
    const text = this.#pieces.push(tokenizer.tokenText(sampled.token).bytes);
    const logprob = sampled.logprob === null ? null : this.#tokenLogprob(sampled.token, sampled.logprob, sampled.top);
    if (this.#answer.push(text, logprob)) return this.#end('stop');
    if (this.#tokens >= this.#maxTokens || this.#ending?.length === 0) return this.#end('length');
    if (this.#constraint === null && this.#repetition?.push(sampled.token)) return this.#end('length');
    if (this.#hasPenalties() || this.#constraint !== this.#configuredConstraint)
      this.#sampler?.configure(this.#config());
    return true;
  }

  failed(error: unknown): void {
    this.release();
    this.#parts.events.failed(error);
  }

  #end(why: 'stop' | 'length'): false {
    this.#answer.end(why);
    this.release();
    this.#parts.events.ended(this.#tokens);
    return false;
  }

  /** A token that was not sampled, because the text has to end: there was no other. */
  #onlyChoice(token: number): Sampled {
    const { logprobs } = this.#parts.request;
    if (logprobs === null) return { token, logprob: null, top: [] };
    return { token, logprob: 0, top: [{ token, logprob: 0 }].slice(0, logprobs) };
  }

  #constrain(grammar: CompiledGrammar): DecodingConstraint {
    const { kv, tokenizer } = this.#parts.model;
    return new DecodingConstraint(kv.current, tokenizer, grammar);
  }

  #onToolCallStart(rest: string): boolean {
    if (this.#constraint !== null) return true;
    const { callGrammar } = this.#parts.prepared;
    if (callGrammar === null) return false;
    const constraint = this.#constrain(callGrammar);
    if (!constraint.accept(rest)) return false;
    this.#constraint = constraint;
    return true;
  }

  #onContentStart(rest: string): void {
    const { answerGrammar } = this.#parts.prepared;
    if (answerGrammar === null) return;
    const constraint = this.#constrain(answerGrammar);
    if (!constraint.accept(rest)) {
      throw new Error('One token ended the reasoning and started content that the format does not allow.');
    }
    this.#constraint = constraint;
  }

  /** The first token has no log probability. It is part of the text unless it is a begin-of-sequence token. */
  #takePromptLogprobs(): PromptToken[] {
    const first = this.prompt[0] ?? 0;
    const { bytes, control } = this.#parts.model.tokenizer.tokenText(first);
    if (control) return this.#promptLogprobs;
    return [
      { token: Buffer.from(bytes).toString('utf8'), bytes: [...bytes], logprob: null, top: [] },
      ...this.#promptLogprobs,
    ];
  }

  #hasPenalties(): boolean {
    const { presencePenalty, frequencyPenalty } = this.#parts.request.sampling;
    return presencePenalty !== 0 || frequencyPenalty !== 0;
  }

  #config(): SamplerConfig {
    const { temperature, topP, presencePenalty, frequencyPenalty } = this.#parts.request.sampling;
    let bias = this.#bias;
    if (this.#hasPenalties() && this.#uses.size > 0) {
      const penalised = new Map(this.#bias);
      for (const [token, uses] of this.#uses) {
        penalised.set(token, (penalised.get(token) ?? 0) - presencePenalty - frequencyPenalty * uses);
      }
      bias = penalised;
    }
    this.#configuredConstraint = this.#constraint;
    const grammar = this.#constraint?.state ?? null;
    return { temperature: temperature ?? 1, topP, seed: this.#parts.seed, bias, grammar };
  }

  #tokenLogprob(token: number, logprob: number, top: readonly Likelihood[]): TokenLogprob {
    const named = (id: number): { token: string; bytes: number[] } => {
      const { bytes } = this.#parts.model.tokenizer.tokenText(id);
      return { token: Buffer.from(bytes).toString('utf8'), bytes: [...bytes] };
    };
    // JSON has no infinity. No reported log probability is lower.
    const finite = (value: number): number => Math.max(value, -9999);
    return {
      ...named(token),
      logprob: finite(logprob),
      top: top.map((other) => ({ ...named(other.token), logprob: finite(other.logprob) })),
    };
  }
}

/**
 * Merges the logit biases of the request and of its tool constraint with a ban of control tokens, except those that end
 * the completion or belong to the output syntax.
 */
function baseBias({ model, request, prepared }: ChoiceGenerationOptions): Map<number, number> {
  const bias = new Map(Object.entries(request.sampling.logitBias).map(([token, by]) => [Number(token), by]));
  for (const [token, by] of prepared.tokenBias) bias.set(token, (bias.get(token) ?? 0) + by);
  const allowed = new Set(prepared.allowedTokens);
  for (const token of prepared.bannedTokens) bias.set(token, Number.NEGATIVE_INFINITY);
  for (const { token } of model.tokenizer.controlTokens) {
    if (!allowed.has(token) && !model.tokenizer.isEndOfGeneration(token)) bias.set(token, Number.NEGATIVE_INFINITY);
  }
  return bias;
}
