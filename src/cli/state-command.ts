import type { Authenticator } from '../accounts/authenticator.ts';
import type { Deps } from '../deps.ts';
import type { ModelBindings } from '../models/bindings/model-bindings.ts';

/** Dependencies of commands that need the database: those of the running service, or opened by the command itself. */
export type StateDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'config' | 'models'> & {
  bindings: ModelBindings;
  authenticator: Authenticator | null;
};

/** One command. Returns JSON. */
export type StateCommand = (deps: StateDeps, input: Record<string, unknown>) => Promise<unknown>;
