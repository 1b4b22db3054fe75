import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<string>();

/** Runs a request or job of an organization: queues share fairly without an id passed through every call. */
export function runForOrganization<Result>(organizationId: string, run: () => Result): Result {
  return storage.run(organizationId, run);
}

/** The organization of the current request or job; empty for work of the service itself. */
export function currentOrganization(): string {
  return storage.getStore() ?? '';
}
