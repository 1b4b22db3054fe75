import type { Deps } from '../../deps.ts';
import type { Language } from '../../search/languages.ts';
import { selectLanguages } from './store.ts';

/** A language of a smaller part of the documents is not looked for: its stems would only mislead. */
const MIN_SHARE = 0.05;
/** How long the languages of a knowledge base are taken to be the same. */
const FRESH_MS = 30_000;
/** Knowledge bases whose languages are remembered. */
const MAX_REMEMBERED = 1000;

interface Remembered {
  until: number;
  languages: Promise<Language[]>;
}

const rememberedOf = new WeakMap<object, Map<string, Remembered>>();

/** The languages that the knowledge base's documents are written in, the most usual first; English while there are none. */
export function languagesOfBase(deps: Pick<Deps, 'db' | 'now'>, knowledgeBaseId: string): Promise<Language[]> {
  const remembered = rememberedOf.get(deps.db) ?? new Map<string, Remembered>();
  rememberedOf.set(deps.db, remembered);
  const known = remembered.get(knowledgeBaseId);
  if (known !== undefined && known.until > deps.now()) return known.languages;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  const languages = readLanguages(deps, knowledgeBaseId);
  remembered.set(knowledgeBaseId, { until: deps.now() + FRESH_MS, languages });
  languages.catch(() => remembered.delete(knowledgeBaseId));
  return languages;
}

async function readLanguages(deps: Pick<Deps, 'db'>, knowledgeBaseId: string): Promise<Language[]> {
  const counted = await selectLanguages(deps.db.sql, knowledgeBaseId);
  const all = counted.reduce((sum, { documents }) => sum + documents, 0);
  const usual = counted
    .filter(({ documents }) => documents >= all * MIN_SHARE)
    .map(({ language }) => language as Language);
  return usual.length > 0 ? usual : ['en'];
}
