import { loadClientConfig } from '../config/client-config.ts';
import { isId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { sendCommand } from './command-client.ts';
import { listItems } from './list-items.ts';
import type { OperatorRequest, OperatorResponse } from './operator-api.ts';
import { openState } from './run-state-command.ts';
import { ADMIN_API } from './state-command.ts';

/** Client of the admin API, as the operator. */
export interface AdminClient {
  /** Sends a request. Throws an `OperatorError` with the message of an error response. */
  send<T>(request: OperatorRequest): Promise<T>;
  /** Returns every item of a list. */
  list<T extends { id: string }>(path: string, query?: Record<string, string>): Promise<T[]>;
  /** Returns the id of an organization by its name or id. Throws an `OperatorError` when there is none. */
  findOrganizationId(nameOrId: string): Promise<string>;
}

/** An error response of the admin API. */
export class AdminApiError extends OperatorError {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** No service runs on the data folder. */
class NoService extends Error {}

/**
 * Runs `use` with the admin API of the service that runs on the data folder; otherwise opens the database and runs the
 * same routes in this process, with started engines if it `needsModels`. A command that `isReadOnly` fails instead of
 * creating a data folder.
 */
export async function withAdminApi<T>(
  use: (client: AdminClient) => Promise<T>,
  { needsModels = false, isReadOnly = false } = {},
): Promise<T> {
  const { dataDir } = await loadClientConfig();
  try {
    return await use(
      createClient(async (input) => {
        const reply = await sendCommand(dataDir, { command: ADMIN_API, input });
        if (reply === null) throw new NoService();
        return reply.result as OperatorResponse;
      }),
    );
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
  }
  return openState({ needsModels, isReadOnly }, ({ callAdminApi }) => use(createClient(callAdminApi)));
}

function createClient(call: (request: OperatorRequest) => Promise<OperatorResponse>): AdminClient {
  const send = async <T>(request: OperatorRequest): Promise<T> => {
    const { status, body } = await call(request);
    if (status < 400) return body as T;
    const { error } = body as { error: { message: string; code: string } };
    throw new AdminApiError(error.message, error.code);
  };
  const list: AdminClient['list'] = (path, query = {}) =>
    Array.fromAsync(listItems(path, query, (page) => send({ method: 'GET', path: page })));
  const findOrganizationId = async (nameOrId: string) => {
    if (isId('organization', nameOrId)) return nameOrId;
    const [found] = await list('/v1/admin/organizations', { name: nameOrId });
    if (found !== undefined) return found.id;
    throw new OperatorError(`There is no organization '${nameOrId}'. 'quire orgs list' lists the organizations.`);
  };
  return { send, list, findOrganizationId };
}
