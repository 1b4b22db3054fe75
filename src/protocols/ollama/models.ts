import { hash } from 'node:crypto';
import type { Deps } from '../../deps.ts';
import { type ModelView, modelBackend, modelContextTokens, modelRuntime } from '../../engines/registry.ts';
import { missingField } from '../../errors.ts';
import { requireScope } from '../../http/auth.ts';
import { admit, requireModel } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import type { ModelAdminDeps } from '../../models/administration/admin-deps.ts';
import { setLoaded } from '../../models/administration/manage-files.ts';
import { findModel } from '../../models/find-model.ts';
import type { OllamaCallFields, OllamaModelRequest } from './schema.ts';

type ModelDeps = Pick<Deps, 'models'>;

const LATEST = ':latest';
/** Clients show a model that is never unloaded with this time as "Forever". */
const NEVER = '9999-12-31T23:59:59Z';

/** Returns the model id of a name: ids without a tag may be followed by `:latest`. */
export function resolveModelName({ models }: ModelDeps, name: string): string {
  return models.get(name) === undefined && name.endsWith(LATEST) ? name.slice(0, -LATEST.length) : name;
}

/** The name of a request. Throws 400 without one. */
export function requireName({ model, name = model }: OllamaModelRequest): string {
  if (name === undefined) throw missingField('model');
  return name;
}

/** Models that chat or embed and that the key may use, as `GET /api/tags` lists them. */
export function listOllamaModels({ models }: ModelDeps, { caller }: Call) {
  const usable = models.list().filter((model) => canDo(model).length > 0 && (caller.models?.has(model.id) ?? true));
  return usable.map((model) => {
    const name = model.id.includes(':') ? model.id : model.id + LATEST;
    const { engine, model: backend } = modelBackend(model);
    return { name, model: name, ...viewFacts(model), size: 0, digest: hash('sha256', `${engine}:${backend}`) };
  });
}

/** Models that can answer now, as `GET /api/ps` lists them. */
export function listRunningModels(deps: ModelDeps, call: Call) {
  const running = listOllamaModels(deps, call).filter(({ name }) => {
    const model = deps.models.get(resolveModelName(deps, name));
    return model !== undefined && modelBackend(model).ready;
  });
  return running.map((model) => ({ ...model, expires_at: NEVER, size_vram: 0 }));
}

/** Facts about one model. Throws 404, and 403 when the key is limited to other models. */
export function showModel(deps: ModelDeps, { caller }: Call, request: OllamaModelRequest) {
  const model = findModel(deps, resolveModelName(deps, requireName(request)), 'model');
  requireModel(caller, model.id, 'model');
  return {
    ...viewFacts(model),
    ...{ license: '', modelfile: '', parameters: '', template: '' },
    model_info: {
      'general.architecture': 'quire',
      'general.basename': model.id,
      'general.parameter_count': modelBackend(model).parameters,
      'quire.context_length': modelContextTokens(model),
    },
  };
}

function canDo({ capabilities, embedding, engine }: ModelView) {
  const features = [
    ['completion', capabilities.chat_completion],
    ['tools', capabilities.function_calling],
    ['insert', engine?.features().suffix === true],
    ['vision', capabilities.vision],
    ['embedding', embedding !== undefined],
  ] as const;
  return features.flatMap(([name, isSupported]) => (isSupported ? [name] : []));
}

function viewFacts(model: ModelView) {
  const { engine, parameters } = modelBackend(model);
  const size =
    parameters === null
      ? ''
      : parameters >= 1e9
        ? `${(parameters / 1e9).toFixed(1)}B`
        : `${Math.round(parameters / 1e6)}M`;
  return {
    modified_at: new Date(model.createdAt * 1000).toISOString(),
    details: {
      parent_model: '',
      format: engine === 'upstream' ? '' : 'gguf',
      family: '',
      families: [],
      parameter_size: size,
      quantization_level: '',
    },
    capabilities: canDo(model),
  };
}

/**
 * Answers a request without a prompt: loads the model, or unloads it if `keep_alive` is 0, which needs the scope
 * `admin`, because other callers use the model, too. Throws as `admit` and `setLoaded` do.
 */
export async function loadOrUnload(
  deps: Pick<ModelAdminDeps, 'models' | 'db'>,
  call: Call,
  { model: name, keep_alive: keepAlive = '' }: OllamaCallFields,
): Promise<'load' | 'unload'> {
  const { model } = admit(deps, call, { kind: 'chat', model: resolveModelName(deps, name) });
  if (Number.parseFloat(String(keepAlive)) !== 0) {
    modelRuntime(model)?.loadModel?.();
    return 'load';
  }
  requireScope(call.caller, 'admin', 'keep_alive');
  await setLoaded(deps, call, { id: model.id, isLoaded: false, param: 'model' });
  return 'unload';
}
