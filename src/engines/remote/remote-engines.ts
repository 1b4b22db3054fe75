import { type ApiError, engineUnavailable } from '../../errors.ts';
import type { RpcPeer } from '../../lib/rpc-peer.ts';
import { bundledDocumentMode } from '../bundled/bundled-chat.ts';
import type { EmbeddingEngine, EmbeddingRequest, Embeddings } from '../embedding-engine.ts';
import type {
  Backend,
  CacheUsage,
  ChatPrompt,
  EngineLoad,
  GenerationEngine,
  GenerationEvent,
  GenerationFeatures,
  GenerationRequest,
} from '../engine.ts';
import type { Moderation, ModerationEngine } from '../moderation-engine.ts';
import type { RerankEngine, RerankEngineRequest, Reranking, RerankScoreWeights } from '../rerank-engine.ts';
import { TemplateTokens } from '../template-tokens.ts';
import type {
  AcquiredEngine,
  AcquireInput,
  ChangedFacts,
  EngineFacts,
  SentEmbeddingRequest,
  StartedEngine,
} from './protocol.ts';

/** The engines of another process of the service, as this process uses them. */
export class RemoteEngines {
  readonly #peer: RpcPeer;
  /** By the number of the engine. */
  readonly #engines = new Map<number, RemoteEngine>();

  constructor(peer: RpcPeer) {
    this.#peer = peer;
  }

  /** Starts an engine in the other process, or shares a running one. Throws as `EnginePool.startEngine` does. */
  async start(input: AcquireInput): Promise<StartedEngine> {
    const acquired = await this.#peer.call<AcquiredEngine | null>('acquire', input);
    if (acquired === null) return {};
    const running = this.#engines.get(acquired.engine);
    if (running !== undefined) await this.#peer.call('release', { handle: acquired.handle });
    const engine = running ?? createRemote(this.#peer, acquired);
    this.#engines.set(acquired.engine, engine);
    return { [acquired.field]: engine };
  }

  /** Removes engines that are being closed, so that later starts get new ones. */
  forget(closed: ReadonlySet<unknown>): void {
    for (const [number, engine] of this.#engines) if (closed.has(engine)) this.#engines.delete(number);
  }

  /** Applies changed facts that the other process sent. */
  update({ engine, facts }: ChangedFacts): void {
    this.#engines.get(engine)?.update(facts);
  }
}

function createRemote(peer: RpcPeer, acquired: AcquiredEngine): RemoteEngine {
  if (acquired.field === 'engine') return new RemoteGeneration(peer, acquired);
  if (acquired.field === 'embedding') return new RemoteEmbedding(peer, acquired);
  return acquired.field === 'rerank' ? new RemoteRerank(peer, acquired) : new RemoteModeration(peer, acquired);
}

/** An engine in another process. Calls end with 503 when the connection is lost. */
class RemoteEngine {
  readonly #peer: RpcPeer;
  readonly #handle: number;
  #closed: ApiError | null = null;
  protected facts: EngineFacts;
  readonly load?: (signal: AbortSignal) => Promise<EngineLoad>;
  readonly loadModel?: () => void;
  readonly unloadModel?: () => Promise<boolean>;

  constructor(peer: RpcPeer, { handle, facts }: AcquiredEngine) {
    this.#peer = peer;
    this.#handle = handle;
    this.facts = facts;
    if (facts.methods.includes('load')) this.load = (signal) => this.call('load', [], { signal });
    if (facts.methods.includes('unloadModel')) {
      // The next facts tell whether it succeeded.
      this.loadModel = () => void this.call('loadModel', []).catch(() => {});
      this.unloadModel = () => this.call('unloadModel', []);
    }
  }

  /** Id of the process of the engine; undefined for engines without one. */
  get hostPid(): number | null | undefined {
    return this.facts.hostPid;
  }

  backend(): Backend {
    const { backend } = this.facts;
    return this.#closed === null ? backend : { ...backend, ready: false };
  }

  update(facts: EngineFacts): void {
    this.facts = facts;
  }

  async check(signal: AbortSignal): Promise<void> {
    this.update(await this.call('check', [], { signal }));
  }

  /** Ends running calls with 503. The other process closes the engine when no process needs it. */
  async close(): Promise<void> {
    if (this.#closed !== null) return;
    this.#closed = engineUnavailable('The model was closed; try again in a moment.', 1);
    this.#peer.failGroup(this, this.#closed);
    await this.#peer.call('release', { handle: this.#handle }).catch(() => {});
  }

  protected call<Result>(
    method: string,
    parameters: readonly unknown[],
    options: { signal?: AbortSignal; scope?: string | undefined } = {},
  ): Promise<Result> {
    const { signal, scope = '' } = options;
    const input = { handle: this.#handle, parameters };
    return this.#peer.call<Result>(method, input, { ...(signal && { signal }), scope, group: this });
  }

  protected stream<Event>(
    parameters: readonly unknown[],
    { signal, scope }: { signal: AbortSignal; scope: string },
  ): AsyncGenerator<Event, void, undefined> {
    const input = { handle: this.#handle, parameters };
    return this.#peer.stream<Event>('generate', input, { signal, scope, group: this });
  }
}

class RemoteGeneration extends RemoteEngine implements GenerationEngine {
  #template = new TemplateTokens();
  readonly countTokens?: (prompt: ChatPrompt, scope: string, signal: AbortSignal) => Promise<number | null>;

  constructor(peer: RpcPeer, acquired: AcquiredEngine) {
    super(peer, acquired);
    this.update(acquired.facts);
    if (acquired.facts.generation?.canCount === true)
      this.countTokens = (prompt, scope, signal) => this.call('countPromptTokens', [prompt, scope], { signal, scope });
  }

  override update(facts: EngineFacts): void {
    super.update(facts);
    this.#template.recordSamples(facts.generation?.features.sampleTokens ?? []);
  }

  contextLength(): number | null {
    return this.facts.generation?.contextLength ?? null;
  }

  features(): GenerationFeatures {
    const { backend, generation } = this.facts;
    const mode = generation?.documentMode ?? 'rendered';
    return {
      ...(generation?.features ?? { suffix: false, promptLogprobs: false }),
      documentMode: backend.engine === 'bundled' ? bundledDocumentMode : () => mode,
      templateTokens: ({ prompt }) => this.#template.bound(prompt),
    };
  }

  /** The process of the engine reports it. */
  cacheUsage(): CacheUsage | null {
    return null;
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationEvent, void, undefined> {
    return this.stream([request], { signal, scope: request.scope });
  }
}

class RemoteEmbedding extends RemoteEngine implements EmbeddingEngine {
  readonly hybridWeight?: number;
  readonly matchPassages?: NonNullable<EmbeddingEngine['matchPassages']>;

  constructor(peer: RpcPeer, acquired: AcquiredEngine) {
    super(peer, acquired);
    const { hybridWeight, canMatchPassages } = acquired.facts.embedding ?? {};
    if (hybridWeight !== undefined) this.hybridWeight = hybridWeight;
    if (canMatchPassages === true)
      this.matchPassages = (query, texts, signal, scope) =>
        this.call('matchPassages', [query, texts, scope], { signal, scope });
  }

  fingerprint(): string {
    return this.facts.embedding?.fingerprint ?? '';
  }

  embed({ nameParam, ...request }: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const sent: SentEmbeddingRequest = { ...request, params: request.texts.map((_, index) => nameParam(index)) };
    return this.call('embed', [sent], { signal, scope: request.scope });
  }

  countTokens(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<number[]> {
    return this.call('countTokens', [texts, scope], { signal, scope });
  }
}

class RemoteRerank extends RemoteEngine implements RerankEngine {
  readonly weights?: RerankScoreWeights;

  constructor(peer: RpcPeer, acquired: AcquiredEngine) {
    super(peer, acquired);
    const { weights } = acquired.facts.rerank ?? {};
    if (weights !== undefined) this.weights = weights;
  }

  rerank(request: RerankEngineRequest, signal: AbortSignal): Promise<Reranking> {
    return this.call('rerank', [request], { signal, scope: request.scope });
  }
}

class RemoteModeration extends RemoteEngine implements ModerationEngine {
  moderate(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<Moderation> {
    return this.call('moderate', [texts, scope], { signal, scope });
  }
}
