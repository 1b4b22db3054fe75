import { createKey, type NewKey, viewKey } from '../accounts/create-key.ts';
import {
  insertOrganization,
  selectApiKeys,
  selectOrganizationByName,
  selectOrganizations,
  updateRevoked,
} from '../accounts/store.ts';
import { secretsWarning } from '../boot/secrets.ts';
import { modelBackend } from '../engines/registry.ts';
import { checkHealth, unboundModels } from '../health/check-health.ts';
import type { Scope } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { INDEX_COMMANDS } from './index-commands.ts';
import { MODEL_COMMANDS } from './model-commands.ts';
import type { StateCommand } from './state-command.ts';

/** Commands list everything on one page. */
const ALL = { limit: 10_000, after: null };

/** Commands that need the database, by name. Input and result are JSON, because they may cross the command socket. */
export const STATE_COMMANDS: Readonly<Record<string, StateCommand>> = {
  'keys create': async (deps, input) => {
    const newKey: NewKey = {
      organization: input['organization'] as string,
      name: input['name'] as string,
      scopes: input['scopes'] as Scope[],
      models: input['models'] as string[] | null,
      expiresInSeconds: input['expiresInSeconds'] as number | null,
    };
    return createKey(deps, newKey);
  },
  'keys list': async (deps, input) => {
    const name = input['organization'] as string | null;
    const organization = name === null ? null : await selectOrganizationByName(deps.db.sql, name);
    if (name !== null && organization === null) throw new OperatorError(`There is no organization '${name}'.`);
    return (await selectApiKeys(deps.db.sql, organization?.id ?? null, ALL)).map(viewKey);
  },
  'keys revoke': async (deps, input) => {
    const id = input['id'] as string;
    const row = await deps.db.sql.transaction((sql) => updateRevoked(sql, id, new Date()));
    if (row === null) throw new OperatorError(`There is no key '${id}'. 'quire keys list' lists the keys.`);
    // Other processes are notified; a response must not precede the effect in this one.
    deps.authenticator?.evict(id);
    return viewKey(row);
  },
  'orgs create': async (deps, input) => {
    const id = newId('organization');
    const name = input['name'] as string;
    if (!(await insertOrganization(deps.db.sql, id, name)))
      throw new OperatorError(`The organization '${name}' exists already.`);
    return { id, name };
  },
  'orgs list': async (deps) =>
    (await selectOrganizations(deps.db.sql, ALL)).map(({ id, name, createdAt }) => ({
      id,
      name,
      created_at: Math.floor(createdAt.getTime() / 1000),
    })),
  ...MODEL_COMMANDS,
  ...INDEX_COMMANDS,
  doctor: async (deps) => ({
    checks: await checkHealth(deps),
    bindings: deps.models.list().map((model) => ({ id: model.id, ...modelBackend(model) })),
    unbound: unboundModels(deps),
    warnings: [secretsWarning(deps.config)].filter((warning) => warning !== null),
  }),
};

/** Commands that need all engines in addition to the database. */
export const NEEDS_MODELS: ReadonlySet<string> = new Set(['models list', 'doctor']);
