import type { Deps } from '../../deps.ts';
import type { Language } from '../../search/languages.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { selectLanguages } from './store.ts';

/** Minimum share of documents in a language: stems of rarer languages cause false matches. */
const MIN_SHARE = 0.05;
/** Cache TTL. */
const TTL_MS = 30_000;
/** Relative change of the number of documents that invalidates the cache. */
const CHANGED_SHARE = 0.05;
/** Maximum cached knowledge bases. */
const MAX_CACHED = 1000;

interface CacheEntry {
  until: number;
  documentCount: number;
  languages: Promise<Language[]>;
}

const caches = new WeakMap<object, Map<string, CacheEntry>>();

/** Returns the languages of a knowledge base's documents, the most common first; English without documents. Cached. */
export function documentLanguages(
  deps: Pick<Deps, 'db' | 'now'>,
  { id, documentCount }: Pick<KnowledgeBaseRow, 'id' | 'documentCount'>,
): Promise<Language[]> {
  const cache = caches.get(deps.db) ?? new Map<string, CacheEntry>();
  caches.set(deps.db, cache);
  const cached = cache.get(id);
  if (cached !== undefined && isFresh(cached, documentCount, deps.now())) return cached.languages;
  if (cache.size >= MAX_CACHED) cache.clear();
  const languages = readLanguages(deps, id);
  cache.set(id, { until: deps.now() + TTL_MS, documentCount, languages });
  languages.catch(() => cache.delete(id));
  return languages;
}

function isFresh(entry: CacheEntry, documentCount: number, now: number): boolean {
  return entry.until > now && Math.abs(documentCount - entry.documentCount) <= entry.documentCount * CHANGED_SHARE;
}

async function readLanguages(deps: Pick<Deps, 'db'>, knowledgeBaseId: string): Promise<Language[]> {
  const counted = await selectLanguages(deps.db.sql, knowledgeBaseId);
  const total = counted.reduce((sum, { documents }) => sum + documents, 0);
  const common = counted
    .filter(({ documents }) => documents >= total * MIN_SHARE)
    .map(({ language }) => language as Language);
  return common.length > 0 ? common : ['en'];
}
