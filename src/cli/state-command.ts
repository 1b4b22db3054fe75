import type { Backups } from '../backup/backups.ts';
import type { Deps } from '../deps.ts';
import type { ProcessStatus } from '../health/engine-schema.ts';
import type { OperatorRequest, OperatorResponse } from './operator-api.ts';

/** The state command that calls the admin API. Its input is an `OperatorRequest`. */
export const ADMIN_API = 'admin api';

/** Dependencies of commands that need the database: taken from the running service, or opened by the command itself. */
export type StateDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'config' | 'models'> & {
  /** Absent unless the running service has several processes. */
  listProcesses?: () => Promise<ProcessStatus[]>;
  /** Null unless `QUIRE_BACKUP_URL` is set. */
  backups: Backups | null;
  callAdminApi(request: OperatorRequest): Promise<OperatorResponse>;
};

/** One command. Returns JSON. */
export type StateCommand = (deps: StateDeps, input: Record<string, unknown>) => Promise<unknown>;

/** Requirements of a command that opens the stores itself. */
export interface StateNeeds {
  /** Starts the engines too. */
  needsModels?: boolean;
  /** Reads the blob store or the search index, which must be those that belong to the database. */
  needsStores?: boolean;
  /** Fails when there is no data folder, and creates none. */
  isReadOnly?: boolean;
}
