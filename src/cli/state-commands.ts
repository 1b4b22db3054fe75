import { secretsWarning } from '../boot/secrets.ts';
import { forgetStore, type StoreName } from '../boot/store-identities.ts';
import { modelBackend } from '../engines/registry.ts';
import { checkEngines, checkStores, describeSchemaSupport, unboundModels } from '../health/check-health.ts';
import { listEngines } from '../health/list-engines.ts';
import { BACKUP_COMMANDS } from './backup-commands.ts';
import { INDEX_COMMANDS } from './index-commands.ts';
import type { OperatorRequest } from './operator-api.ts';
import { ADMIN_API, type StateCommand } from './state-command.ts';

/** Commands that need the database, by name. Input and result are JSON, because they may cross the command socket. */
export const STATE_COMMANDS: Readonly<Record<string, StateCommand>> = {
  [ADMIN_API]: (deps, input) => deps.callAdminApi(input as unknown as OperatorRequest),
  ...BACKUP_COMMANDS,
  ...INDEX_COMMANDS,
  ps: listEngines,
  'db migrate': ({ db }) => db.migrate(),
  'db forget-store': async (deps, input) => {
    await forgetStore(deps.db.sql, input['store'] as StoreName);
    return null;
  },
  doctor: async (deps) => ({
    checks: (await Promise.all([checkStores(deps), checkEngines(deps)])).flat(),
    bindings: deps.models.list().map((model) => ({ id: model.id, ...modelBackend(model) })),
    unbound: unboundModels(deps),
    schemas: await describeSchemaSupport(deps),
    warnings: [secretsWarning(deps.config)].filter((warning) => warning !== null),
  }),
};
