import type { Deps } from '../deps.ts';
import type { ModelBindings } from '../models/bindings/model-bindings.ts';
import type { OperatorRequest, OperatorResponse } from './operator-api.ts';

/** The state command that calls the admin API. Its input is an `OperatorRequest`. */
export const ADMIN_API = 'admin api';

/** Dependencies of commands that need the database: those of the running service, or opened by the command itself. */
export type StateDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'config' | 'models'> & {
  bindings: ModelBindings;
  /** Whether the command runs in the service. */
  isService: boolean;
  callAdminApi(request: OperatorRequest): Promise<OperatorResponse>;
};

/** One command. Returns JSON. */
export type StateCommand = (deps: StateDeps, input: Record<string, unknown>) => Promise<unknown>;
