import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from './caller.ts';

type Context = Pick<Caller, 'organizationId' | 'knowledgeBaseIds'> & Partial<Pick<Caller, 'keyId'>>;

const storage = new AsyncLocalStorage<Context>();

/** Runs a request or job of an organization: queues share fairly without an id passed through every call. */
export function runForOrganization<Result>(organizationId: string, run: () => Result): Result {
  return storage.run({ organizationId }, run);
}

/** Like `runForOrganization`, for a caller: lookups return only rows that its key may access. */
export function runForCaller<Result>({ organizationId, keyId, knowledgeBaseIds }: Context, run: () => Result): Result {
  return storage.run({ organizationId, ...(keyId && { keyId }), ...(knowledgeBaseIds && { knowledgeBaseIds }) }, run);
}

/** Id of the key or user of the current request. Null in jobs and internal tasks, which may read private data. */
export function currentCaller(): string | null {
  return storage.getStore()?.keyId ?? null;
}

/** The organization of the current request or job; empty for work of the service itself. */
export function currentOrganization(): string {
  return storage.getStore()?.organizationId ?? '';
}

/** Ids of the knowledge bases that the current request or job may use; null: all of its organization. */
export function visibleKnowledgeBases(): readonly string[] | null {
  return storage.getStore()?.knowledgeBaseIds ?? null;
}

/**
 * Id of the key of the current request if it is limited to knowledge bases: it sees only responses, conversations,
 * batches and files that it has created. Null: all of its organization.
 */
export function limitedCreator(): string | null {
  return visibleKnowledgeBases() === null ? null : currentCaller();
}
