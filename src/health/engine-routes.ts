import type { App } from '../http/app.ts';
import { EngineStatusList } from './engine-schema.ts';
import { type EngineListDeps, listEngines } from './list-engines.ts';

/** `/v1/admin/engines`: the state of the engines of this process. */
export function engineRoutes(app: App, deps: EngineListDeps): void {
  app.get(
    '/v1/admin/engines',
    {
      schema: {
        summary: 'Show the state of the engines',
        description:
          'Every engine of this process with its slots, memory and servers. Loads no model; probes upstream servers. Requires the scope `admin`.',
        tags: ['Admin'],
        response: { 200: EngineStatusList },
      },
      config: { scope: 'admin' },
    },
    async () => listEngines(deps),
  );
}
