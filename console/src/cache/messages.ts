import { defineMessages } from '../ui/language.tsx';

/** Texts of the prompt cache. */
export const useCacheMessages = defineMessages({
  en: {
    title: 'Prompt cache',
    intro:
      'Prefixes of prompts whose computation is reused. Counted since the last reset, over all processes and restarts.',
    hitRate: 'Hit rate',
    hits: 'Hits',
    misses: 'Misses',
    cachedTokens: 'Cached tokens',
    memory: 'Memory',
    entries: 'Entries',
    sharedWith: 'shared with {models}',
    evictions: 'Evictions',
    reset: 'Reset counters',
  },
  de: {
    title: 'Prompt-Cache',
    intro:
      'Anfänge von Prompts, deren Berechnung wiederverwendet wird. Gezählt seit dem letzten Zurücksetzen, über alle Prozesse und Neustarts.',
    hitRate: 'Trefferquote',
    hits: 'Treffer',
    misses: 'Fehlschläge',
    cachedTokens: 'Tokens aus dem Cache',
    memory: 'Speicher',
    entries: 'Einträge',
    sharedWith: 'gemeinsam mit {models}',
    evictions: 'Verdrängungen',
    reset: 'Zähler zurücksetzen',
  },
});
