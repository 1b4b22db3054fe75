import type { PromptToken, TokenLogprob } from '../../engine.ts';
import { type CompiledGrammar, DecodingConstraint } from '../constraints/decoding-constraint.ts';
import { Answer, type AnswerEvent } from '../output/output-parser.ts';
import { type Likelihood, type Sampled, type SamplerConfig, TokenSampler } from '../runtime/bindings.ts';
import type { Job } from '../scheduler/decode-loop.ts';
import { Utf8Pieces } from '../tokenizer/utf8-decoder.ts';
import type { LocalModel } from './model.ts';
import type { Prepared } from './prepare-prompt.ts';
import type { ConstrainedRequest } from './tool-constraint.ts';

/** What one answer is made from, and whom it tells. */
export interface GenerationParts {
  model: LocalModel;
  request: ConstrainedRequest;
  prepared: Prepared;
  choice: number;
  /** 32 bits. */
  seed: number;
  events: GenerationListener;
}

/** Who hears of an answer. `ended` and `failed` come once, and last. */
export interface GenerationListener {
  paused(): boolean;
  /** `judged`: the tokens that spell the prompt with their log probabilities, where they were asked for. */
  promptEnded(cachedTokens: number, judged: PromptToken[] | null): void;
  event(event: AnswerEvent): void;
  ended(completionTokens: number): void;
  failed(error: unknown): void;
}

/** One answer: configures its sampler, and turns tokens into events until there is a reason to end. */
export class Generation implements Job {
  readonly scope: string;
  readonly priority: 'interactive' | 'batch';
  readonly prompt: readonly number[];
  readonly reuses: boolean;
  readonly #parts: GenerationParts;
  readonly #answer: Answer;
  readonly #pieces = new Utf8Pieces();
  readonly #maxTokens: number;
  readonly #bias: ReadonlyMap<number, number>;
  readonly #uses = new Map<number, number>();
  #sampler: TokenSampler | null = null;
  #constraint: DecodingConstraint | null = null;
  #configuredConstraint: DecodingConstraint | null = null;
  #tokens = 0;
  #judged: TokenLogprob[] = [];

  constructor(parts: GenerationParts) {
    const { model, request, prepared, choice } = parts;
    this.#parts = parts;
    this.scope = request.scope;
    this.priority = request.priority;
    this.prompt = prepared.tokens;
    // What is judged must be computed, and it is the same for every choice: the first one tells it.
    this.reuses = !(request.promptLogprobs && choice === 0);
    const room = model.facts.contextTokens - prepared.tokens.length;
    this.#maxTokens = Math.min(request.maxTokens ?? room, room);
    this.#bias = baseBias(parts);
    this.#answer = new Answer(
      { choice, stop: request.stop, ...prepared.form },
      { callBegins: (rest) => this.#callBegins(rest), answerBegins: (rest) => this.#answerBegins(rest) },
      (event) => parts.events.event(event),
    );
  }

  begin(): void {
    const { model, request, prepared } = this.#parts;
    const { answerGrammar, form } = prepared;
    if (answerGrammar !== null && form.reasoning !== 'open') this.#constraint = this.#constrain(answerGrammar);
    this.#sampler = new TokenSampler(model.context, this.#config(), request.logprobs);
  }

  async judge(index: number, token: number): Promise<void> {
    if (this.#sampler === null) throw new Error('A generation was judged before it began.');
    const { logprob, top } = await this.#sampler.judge(index, token);
    this.#judged.push(this.#described(token, logprob ?? 0, top));
  }

  async sample(index: number): Promise<Sampled> {
    if (this.#sampler === null) throw new Error('A generation was sampled before it began.');
    const sampled = await this.#sampler.sample(index);
    if (!this.#parts.model.vocabulary.isEndOfAnswer(sampled.token)) this.#constraint?.follow(sampled.token);
    return sampled;
  }

  samplingCost(): number {
    return this.#constraint?.cost ?? 0;
  }

  /** Lets go of what it holds of the runtime. May be called twice. */
  release(): void {
    this.#sampler?.release();
  }

  paused(): boolean {
    return this.#parts.events.paused();
  }

  promptEnded(cachedTokens: number): void {
    this.#parts.events.promptEnded(cachedTokens, this.reuses ? null : this.#judgedPrompt());
    this.#judged = [];
  }

  goesOnAfter(token: number): boolean {
    return this.#tokens + 1 < this.#maxTokens && !this.#parts.model.vocabulary.isEndOfAnswer(token);
  }

  accept(sampled: Sampled): boolean {
    const { vocabulary } = this.#parts.model;
    if (vocabulary.isEndOfAnswer(sampled.token)) return this.#end('stop');
    this.#tokens += 1;
    this.#uses.set(sampled.token, (this.#uses.get(sampled.token) ?? 0) + 1);
    const text = this.#pieces.push(vocabulary.piece(sampled.token).bytes);
    const logprob = sampled.logprob === null ? null : this.#described(sampled.token, sampled.logprob, sampled.top);
    if (this.#answer.push(text, logprob)) return this.#end('stop');
    if (this.#tokens >= this.#maxTokens) return this.#end('length');
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

  #constrain(grammar: CompiledGrammar): DecodingConstraint {
    const { context, vocabulary } = this.#parts.model;
    return new DecodingConstraint(context, vocabulary, grammar);
  }

  #callBegins(rest: string): boolean {
    if (this.#constraint !== null) return true;
    const { callGrammar } = this.#parts.prepared;
    if (callGrammar === null) return false;
    const constraint = this.#constrain(callGrammar);
    if (!constraint.accept(rest)) return false;
    this.#constraint = constraint;
    return true;
  }

  #answerBegins(rest: string): void {
    const { answerGrammar } = this.#parts.prepared;
    if (answerGrammar === null) return;
    const constraint = this.#constrain(answerGrammar);
    if (!constraint.accept(rest)) {
      throw new Error('The model ended its thinking and began an answer of another form in one token.');
    }
    this.#constraint = constraint;
  }

  /** The first token was not judged. It is a part of the text, unless it is the mark of a text's beginning. */
  #judgedPrompt(): PromptToken[] {
    const first = this.prompt[0] ?? 0;
    const { bytes, control } = this.#parts.model.vocabulary.piece(first);
    if (control) return this.#judged;
    return [{ token: Buffer.from(bytes).toString('utf8'), bytes: [...bytes], logprob: null, top: [] }, ...this.#judged];
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
    return { temperature, topP, seed: this.#parts.seed, bias, grammar };
  }

  #described(token: number, logprob: number, top: readonly Likelihood[]): TokenLogprob {
    const named = (id: number): { token: string; bytes: number[] } => {
      const { bytes } = this.#parts.model.vocabulary.piece(id);
      return { token: Buffer.from(bytes).toString('utf8'), bytes: [...bytes] };
    };
    // JSON has no infinities; no probability that is printed is smaller than this one.
    const finite = (value: number): number => Math.max(value, -9999);
    return {
      ...named(token),
      logprob: finite(logprob),
      top: top.map((other) => ({ ...named(other.token), logprob: finite(other.logprob) })),
    };
  }
}

/** The caller's bias, and no control tokens but those that end an answer or belong to its form. */
function baseBias({ model, request, prepared }: GenerationParts): Map<number, number> {
  const bias = new Map(Object.entries(request.sampling.logitBias).map(([token, by]) => [Number(token), by]));
  const allowed = new Set(prepared.allowedTokens);
  for (const token of prepared.bannedTokens) bias.set(token, Number.NEGATIVE_INFINITY);
  for (const { token } of model.vocabulary.controls) {
    if (!allowed.has(token) && !model.vocabulary.isEndOfAnswer(token)) bias.set(token, Number.NEGATIVE_INFINITY);
  }
  return bias;
}
