import type { Deps } from '../deps.ts';
import type { ModelView } from '../engines/registry.ts';
import { engineUnavailable, insufficientScope, notFound, unsupportedModel } from '../errors.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { type CallKind, type EngineInfo, type EngineOfKind, KINDS, type KindOfCall } from './call-kinds.ts';
import { costBounds, grantedOutputTokens, type TokenBounds } from './cost-bounds.ts';
import { type MeteringDeps, ModelCall } from './model-call.ts';
import type { Screened } from './screening.ts';

/** `Retry-After` while nothing is bound to a model: only an operator can change that. */
const UNBOUND_RETRY_SECONDS = 60;
/** Models that an error suggests. */
const MAX_SUGGESTED_MODELS = 10;

/** A model to look up. */
export interface ModelQuery<K extends CallKind> {
  kind: K;
  /** Model id; absent: the default model of the kind. */
  model?: string | undefined;
  /** Field of the request that names the model, for errors; `model` if absent. */
  param?: string;
  /** Of an embedding model: prefers the engine with this fingerprint, also if the id is bound to another one by now. */
  fingerprint?: string | null;
}

/**
 * Permission of one caller to call one model. Holds no resource, so an admission may be dropped, and may begin several
 * calls (prompts of one completion, batches of one document): each is metered and settled on its own.
 */
export class Admission<K extends CallKind = CallKind> {
  readonly kind: K;
  readonly model: ModelView;
  readonly call: Call;
  readonly #engine: EngineInfo<K>;

  /** Use `admit`. */
  constructor(kind: K, { model, engine }: ResolvedModel<K>, call: Call) {
    this.kind = kind;
    this.model = model;
    this.call = call;
    this.#engine = engine;
  }

  /** The engine without its methods that compute. */
  get engine(): EngineInfo<K> {
    return this.#engine;
  }

  /**
   * Throws 402 when the credits do not cover the least that a call can cost. For the beginning of a request: screening
   * and retrieval before the call take time of engines, too.
   */
  async requireCredits(deps: Pick<Deps, 'reserve'>, bounds: () => TokenBounds): Promise<void> {
    const reserving = deps.reserve(this.call, () => {
      const { minMicros } = costBounds(bounds(), this.model, this.call);
      return { minMicros, maxMicros: minMicros };
    });
    const reservation = reserving instanceof Promise ? await reserving : reserving;
    reservation?.settle(0);
  }

  /**
   * Begins one metered call and reserves its credits: the only way to a method of an engine that computes, so no call
   * misses screening, credits or metering. The caller settles it exactly once. Throws 402 when the credits do not cover
   * the call.
   */
  async begin(deps: MeteringDeps, _input: Screened<unknown>, size: CallSize): Promise<ModelCall<EngineOfKind<K>>> {
    const { model, call } = this;
    let bounds: TokenBounds | null = null;
    const reserving = deps.reserve(call, () => {
      bounds = size.bounds();
      return costBounds(bounds, model, call);
    });
    // Without limits nothing is waited for.
    const reservation = reserving instanceof Promise ? await reserving : reserving;
    const outputTokens =
      reservation === null || bounds === null
        ? null
        : grantedOutputTokens(reservation.grantedMicros, bounds, model, call);
    // The registry holds whole engines; `ModelView` hides the methods that compute from everything else.
    const engine = this.#engine as unknown as EngineOfKind<K>;
    return new ModelCall(deps, this, { engine, inputs: size.inputs, reservation, outputTokens });
  }
}

/** Size of a call. */
export interface CallSize {
  /** Texts in the request, for metrics. */
  inputs: number;
  /** Bounds of its tokens. Called only when credits are reserved for it. */
  bounds(): TokenBounds;
}

/** A model with its engine. */
export interface ResolvedModel<K extends CallKind> {
  model: ModelView;
  engine: EngineInfo<K>;
}

/** Admits a call to a model. Throws what `resolveModel` throws. */
export function admit<K extends CallKind>(deps: Pick<Deps, 'models'>, call: Call, query: ModelQuery<K>): Admission<K> {
  return new Admission(query.kind, resolveModel(deps, call.caller, query), call);
}

/**
 * Finds a model of a kind that the caller may use. Throws 404 `model_not_found` for an unknown id and for a model of
 * another kind, 403 when the key is limited to other models, 503 when no engine is bound.
 */
export function resolveModel<K extends CallKind>(
  deps: Pick<Deps, 'models'>,
  caller: Caller,
  { kind, model: named, param = 'model', fingerprint }: ModelQuery<K>,
): ResolvedModel<K> {
  const row: KindOfCall = KINDS[kind];
  const id = named ?? row.defaultModel ?? '';
  const model = findModel(deps, id, row);
  const bound = model?.[row.engine] ?? null;
  const retired = model?.retired?.find((engine) => row.engine === 'embedding' && engine.fingerprint() === fingerprint);
  const engine = retired ?? bound;
  if (model === undefined) throw notFound('model', id, param);
  if (!isOfKind(model, row)) {
    const usable = deps.models.list().filter((other) => isOfKind(other, row) && mayUse(caller, other.id));
    throw unsupportedModel(
      id,
      row.task,
      usable.slice(0, MAX_SUGGESTED_MODELS).map((other) => other.id),
      param,
    );
  }
  requireModel(caller, model.id, param);
  if (engine === null) {
    const reason = model.unavailable?.reason ?? `Nothing serves '${model.id}' at present.`;
    throw engineUnavailable(reason, UNBOUND_RETRY_SECONDS);
  }
  return { model, engine: engine as EngineInfo<K> };
}

/** Whether a model does the task of a kind, even while no engine is bound to it. */
function isOfKind(model: ModelView, row: KindOfCall): boolean {
  if (row.capability !== null) return model.capabilities[row.capability];
  return (model[row.engine] ?? null) !== null || model.id === row.defaultModel;
}

function findModel(deps: Pick<Deps, 'models'>, id: string, row: KindOfCall): ModelView | undefined {
  const model = deps.models.get(id);
  const isAlias = model === undefined && row.aliases.includes(id) && row.defaultModel !== null;
  return isAlias ? deps.models.get(row.defaultModel ?? '') : model;
}

const mayUse = ({ models }: Caller, modelId: string): boolean => models === null || models.has(modelId);

/** Throws 403 `insufficient_scope` when the key is limited to other models. `param`: field that names the model. */
export function requireModel(caller: Caller, modelId: string, param: string): void {
  if (!mayUse(caller, modelId)) throw insufficientScope(`This API key may not use the model '${modelId}'.`, param);
}
