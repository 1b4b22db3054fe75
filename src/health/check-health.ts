import type { Deps } from '../deps.ts';
import { type EngineRuntime, modelRuntime } from '../engines/registry.ts';
import { describeError } from '../lib/operator-error.ts';

/** Result of one health check. */
export interface HealthCheck {
  /** `database`, `files`, `index`, or the model ids of an engine, separated by commas. */
  name: string;
  ok: boolean;
  /** Kind of the component; for a failed check also the reason. */
  detail: string;
}

const CHECK_TIMEOUT_MS = 3_000;

/** Time for a generation of a few tokens. */
const SCHEMA_TIMEOUT_MS = 15_000;

/** What `doctor` shows of a server's JSON schema support. One sentence per upstream. Sends each a short generation. */
export async function describeSchemaSupport(deps: Pick<Deps, 'models'>): Promise<string[]> {
  const upstreams = deps.models.runtimes().filter((engine) => engine.enforcesSchemas !== undefined);
  return Promise.all(
    upstreams.map(async (engine) => {
      const { model } = engine.backend();
      try {
        const isEnforced = await engine.enforcesSchemas?.(AbortSignal.timeout(SCHEMA_TIMEOUT_MS));
        return `The server of '${model}' ${isEnforced ? 'enforces JSON schemas' : 'does not enforce JSON schemas: answers that violate them are retried once'}.`;
      } catch (error) {
        return `It is unknown whether the server of '${model}' enforces JSON schemas: ${describeError(error)}`;
      }
    }),
  );
}

/** Checks the stores, without which this process cannot answer, concurrently. Never throws. */
export function checkStores(deps: Pick<Deps, 'db' | 'blobs' | 'chunks'>): Promise<HealthCheck[]> {
  return Promise.all([
    runCheck('database', deps.db.description, () => deps.db.check()),
    runCheck('files', deps.blobs.kind, (signal) => deps.blobs.check(signal)),
    runCheck('index', 'LanceDB', () => deps.chunks.check()),
  ]);
}

/** Checks every engine, concurrently. One that does not respond concerns its models only. Never throws. */
export function checkEngines({ models }: Pick<Deps, 'models'>): Promise<HealthCheck[]> {
  const unavailable = models.list().flatMap(({ id, unavailable }) => {
    if (unavailable === undefined) return [];
    const { engine, model } = unavailable.backend;
    return [Promise.resolve({ name: id, ok: false, detail: `${engine} ${model}: ${unavailable.reason}` })];
  });
  return Promise.all([
    ...unavailable,
    ...models.runtimes().map((engine) => {
      const served = models.list().filter((model) => modelRuntime(model) === engine);
      const { engine: kind, model } = engine.backend();
      return runCheck(served.map(({ id }) => id).join(', '), `${kind} ${model}`, (signal) => engine.check(signal));
    }),
  ]);
}

/** Why an engine does not respond; null when it does. Never throws. */
export async function checkEngine(engine: EngineRuntime): Promise<string | null> {
  const { ok, detail } = await runCheck('', '', (signal) => engine.check(signal));
  return ok ? null : detail.replace(/^: /, '');
}

async function runCheck(name: string, detail: string, check: EngineRuntime['check']): Promise<HealthCheck> {
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const timeout = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`no response within ${CHECK_TIMEOUT_MS} ms`)), {
      once: true,
    });
  });
  timeout.catch(() => {});
  try {
    await Promise.race([check(signal), timeout]);
    return { name, ok: true, detail };
  } catch (error) {
    return { name, ok: false, detail: `${detail}: ${describeError(error)}` };
  }
}

/** Lists the model ids without an engine. */
export function unboundModels(deps: Pick<Deps, 'models'>): string[] {
  return deps.models
    .list()
    .filter((model) => modelRuntime(model) === null)
    .map((model) => model.id);
}
