import type { Messages } from '../en/index.ts';

export const usage: Messages['usage'] = {
  title: 'Verbrauch',
  intro: 'Aufrufe, Tokens und Kosten dieser Organisation.',
  days: 'Letzte {days} Tage',
  groupBy: 'Gruppieren nach',
  model: 'Modell',
  key: 'Schlüssel',
  route: 'Route',
  requests: 'Anfragen',
  promptTokens: 'Prompt-Tokens',
  cachedTokens: 'Aus dem Cache',
  completionTokens: 'Antwort-Tokens',
  cost: 'Kosten',
  csv: 'CSV herunterladen',
  empty: 'Keine Aufrufe in diesem Zeitraum.',
  total: 'Summe',
  allModels: 'Alle Modelle',
  perDay: 'pro Tag',
};
