import { OperatorError } from '../lib/operator-error.ts';
import type { ApiClient } from './api-client.ts';

/** Id and name of a knowledge base. */
export interface KnowledgeBaseRef {
  id: string;
  name: string;
}

/** Finds a knowledge base by id or name. Throws an `OperatorError` when none matches, or several have the name. */
export async function requireKnowledgeBase(api: ApiClient, idOrName: string): Promise<KnowledgeBaseRef> {
  const base = await findKnowledgeBaseByName(api, idOrName);
  if (base === null)
    throw new OperatorError(`There is no knowledge base '${idOrName}'. Create one with 'quire ingest'.`);
  return base;
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
