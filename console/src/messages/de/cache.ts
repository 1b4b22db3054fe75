import type { Messages } from '../en/index.ts';

export const cache: Messages['cache'] = {
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
};
