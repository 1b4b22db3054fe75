import { createHash } from 'node:crypto';
import { OperatorError } from '../lib/operator-error.ts';
import { type RetryPolicy, retry } from '../lib/retry.ts';
import { suggestSimilar } from '../lib/suggest.ts';
import type { ApiClient } from './api-client.ts';
import { HttpStatusError } from './client-errors.ts';

/** While the first request with an `Idempotency-Key` runs, others get 409. */
const CONCURRENT_CREATION: RetryPolicy = {
  delaysMs: [250],
  budgetMs: 30_000,
  isPassing: (error) => error instanceof HttpStatusError && error.status === 409,
};

/** Id and name of a knowledge base. */
export interface KnowledgeBaseRef {
  id: string;
  name: string;
}

/** Finds a knowledge base by id or name. Throws an `OperatorError` when none matches, or several have the name. */
export async function requireKnowledgeBase(api: ApiClient, idOrName: string): Promise<KnowledgeBaseRef> {
  const base = await findKnowledgeBaseByName(api, idOrName);
  if (base !== null) return base;
  const all = await Array.fromAsync(api.list<KnowledgeBaseRef>('/v1/knowledge-bases'));
  const similar = suggestSimilar(
    idOrName,
    all.map(({ name }) => name),
  );
  const nextStep = similar === null ? "Create one with 'quire ingest'." : `Did you mean '${similar}'?`;
  throw new OperatorError(`There is no knowledge base '${idOrName}'. ${nextStep}`);
}

/** Like `requireKnowledgeBase`; resolves with null when none matches. */
export async function findKnowledgeBaseByName(api: ApiClient, idOrName: string): Promise<KnowledgeBaseRef | null> {
  const matches: KnowledgeBaseRef[] = [];
  for await (const base of api.list<KnowledgeBaseRef>('/v1/knowledge-bases')) {
    if (base.id === idOrName) return base;
    if (base.name === idOrName) matches.push(base);
  }
  if (matches.length > 1)
    throw new OperatorError(`Several knowledge bases are named '${idOrName}': use the id instead.`);
  return matches[0] ?? null;
}

/**
 * Creates a knowledge base with an `Idempotency-Key` that depends on the name, so that concurrent commands create one.
 * `isNew` is false when another command created it. The server replays a response for 24 hours; when the knowledge base
 * of the response has been deleted or renamed since, the next key depends on its id too.
 */
export async function createKnowledgeBaseOnce(api: ApiClient, name: string): Promise<{ id: string; isNew: boolean }> {
  for (let seed = name; ; ) {
    const idempotencyKey = `quire-ingest-${createHash('sha256').update(seed).digest('hex')}`;
    const create = () => api.send('POST', '/v1/knowledge-bases', { name }, { idempotencyKey });
    const response = await retry(create, CONCURRENT_CREATION);
    const { id } = (await response.json()) as KnowledgeBaseRef;
    if (!response.headers.has('idempotent-replayed')) return { id, isNew: true };
    if ((await fetchName(api, id)) === name) return { id, isNew: false };
    seed = `${id} ${name}`;
  }
}

/** The current name of a knowledge base; null when it does not exist. */
async function fetchName(api: ApiClient, id: string): Promise<string | null> {
  try {
    return (await api.json<KnowledgeBaseRef>('GET', `/v1/knowledge-bases/${id}`)).name;
  } catch (error) {
    if (error instanceof HttpStatusError && error.status === 404) return null;
    throw error;
  }
}
