import type { Authenticator } from '../accounts/authenticator.ts';
import type { ModelBindings } from '../bind-models.ts';
import type { Deps } from '../deps.ts';

/** What commands on the state work with: the service's own, or what a command opens for itself. */
export type StateDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'config' | 'models'> & {
  bindings: ModelBindings;
  authenticator: Authenticator | null;
};

/** One command: its result is JSON. */
export type StateCommand = (deps: StateDeps, input: Record<string, unknown>) => Promise<unknown>;
