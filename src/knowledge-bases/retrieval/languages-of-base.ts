import type { Deps } from '../../deps.ts';
import type { Language } from '../../search/languages.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { selectLanguages } from './store.ts';

/** A language of a smaller part of the documents is not looked for: its stems would only mislead. */
const MIN_SHARE = 0.05;
/** How long they are remembered while documents come and go. */
const FRESH_MS = 30_000;
/** With so many more or fewer documents a language may count that did not: it is looked at once more. */
const CHANGED_SHARE = 0.05;
/** Knowledge bases whose languages are remembered. */
const MAX_REMEMBERED = 1000;

interface Remembered {
  until: number;
  documentCount: number;
  languages: Promise<Language[]>;
}

const rememberedOf = new WeakMap<object, Map<string, Remembered>>();

/** The languages that the knowledge base's documents are written in, the most usual first; English while there are none. */
export function languagesOfBase(
  deps: Pick<Deps, 'db' | 'now'>,
  { id, documentCount }: Pick<KnowledgeBaseRow, 'id' | 'documentCount'>,
): Promise<Language[]> {
  const remembered = rememberedOf.get(deps.db) ?? new Map<string, Remembered>();
  rememberedOf.set(deps.db, remembered);
  const known = remembered.get(id);
  if (known !== undefined && isFresh(known, documentCount, deps.now())) return known.languages;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  const languages = readLanguages(deps, id);
  remembered.set(id, { until: deps.now() + FRESH_MS, documentCount, languages });
  languages.catch(() => remembered.delete(id));
  return languages;
}

function isFresh(known: Remembered, documentCount: number, now: number): boolean {
  return known.until > now && Math.abs(documentCount - known.documentCount) <= known.documentCount * CHANGED_SHARE;
}

async function readLanguages(deps: Pick<Deps, 'db'>, knowledgeBaseId: string): Promise<Language[]> {
  const counted = await selectLanguages(deps.db.sql, knowledgeBaseId);
  const all = counted.reduce((sum, { documents }) => sum + documents, 0);
  const usual = counted
    .filter(({ documents }) => documents >= all * MIN_SHARE)
    .map(({ language }) => language as Language);
  return usual.length > 0 ? usual : ['en'];
}
