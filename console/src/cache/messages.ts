import { defineMessages } from '../ui/language.tsx';

/** Texts of the prompt cache. */
export const useCacheMessages = defineMessages({
  title: ['Prompt cache', 'Prompt-Cache'],
  intro: [
    'Prefixes of prompts whose computation is reused. Counted since the last reset, over all processes and restarts.',
    'Anfänge von Prompts, deren Berechnung wiederverwendet wird. Gezählt seit dem letzten Zurücksetzen, über alle Prozesse und Neustarts.',
  ],
  hitRate: ['Hit rate', 'Trefferquote'],
  hits: ['Hits', 'Treffer'],
  misses: ['Misses', 'Fehlschläge'],
  cachedTokens: ['Cached tokens', 'Tokens aus dem Cache'],
  memory: ['Memory', 'Speicher'],
  entries: ['Entries', 'Einträge'],
  sharedWith: ['shared with {models}', 'gemeinsam mit {models}'],
  evictions: ['Evictions', 'Verdrängungen'],
  reset: ['Reset counters', 'Zähler zurücksetzen'],
});
