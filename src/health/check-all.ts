import type { Deps } from '../deps.ts';
import { modelRuntime, type Runtime } from '../engines/registry.ts';
import { describeError } from '../lib/operator-error.ts';

/** One thing that this process depends on. */
export interface Check {
  /** `database`, `files`, `index`, or the model ids and what is bound to them. */
  name: string;
  ok: boolean;
  /** What it is; when it does not answer, why. */
  detail: string;
}

/** A store or engine that takes longer than this to say that it is there does not serve requests either. */
const CHECK_TIMEOUT_MS = 3_000;

/** Asks the database, the store of files, the search index and every engine whether they answer, all at once. Never throws. */
export function checkAll(deps: Pick<Deps, 'db' | 'blobs' | 'chunks' | 'models'>): Promise<Check[]> {
  const engines = deps.models.runtimes().map((engine) => {
    const models = deps.models.list().filter((model) => modelRuntime(model) === engine);
    const { engine: kind, model } = engine.backend();
    return checkOne(models.map(({ id }) => id).join(', '), `${kind} ${model}`, (signal) => engine.check(signal));
  });
  return Promise.all([
    checkOne('database', deps.db.kind, () => deps.db.check()),
    checkOne('files', deps.blobs.kind, (signal) => deps.blobs.check(signal)),
    checkOne('index', 'LanceDB', () => deps.chunks.check()),
    ...engines,
  ]);
}

async function checkOne(name: string, detail: string, check: Runtime['check']): Promise<Check> {
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`)), {
      once: true,
    });
  });
  late.catch(() => {});
  try {
    await Promise.race([check(signal), late]);
    return { name, ok: true, detail };
  } catch (error) {
    return { name, ok: false, detail: `${detail}: ${describeError(error)}` };
  }
}

/** The model ids that nothing serves at present. */
export function unboundModels(deps: Pick<Deps, 'models'>): string[] {
  return deps.models
    .list()
    .filter((model) => modelRuntime(model) === null)
    .map((model) => model.id);
}
