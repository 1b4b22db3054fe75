import { Registry } from 'prom-client';
import { type AppDeps, createApp } from '../src/app.ts';
import { ModelRegistry } from '../src/engines/registry.ts';
import { unlimited } from '../src/http/rate-limit.ts';
import { createLogger } from '../src/lib/logger.ts';
import { VERSION } from '../src/lib/version.ts';

/** Dependencies of an API that is described but never called: only those that route registration uses are real. */
function describedDeps(): AppDeps {
  const deps = {
    config: { bodyLimitBytes: 1024, corsOrigins: null },
    logger: createLogger('silent'),
    models: new ModelRegistry([]),
    metrics: new Registry(),
    now: Date.now,
    limiter: unlimited,
    promptCache: null,
  };
  return deps as unknown as AppDeps;
}

/** Returns `docs/openapi.json`: the response of `GET /openapi.json`, with sorted paths. */
export async function apiDescription(): Promise<string> {
  const app = await createApp(describedDeps(), VERSION);
  try {
    await app.ready();
    const document = app.swagger();
    const paths = Object.entries(document.paths ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `${JSON.stringify({ ...document, paths: Object.fromEntries(paths) }, null, 2)}\n`;
  } finally {
    await app.close();
  }
}
