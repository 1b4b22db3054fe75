import { defineMessages } from '../ui/language.tsx';

/** Texts of usage and cost. */
export const useUsageMessages = defineMessages({
  title: ['Usage', 'Verbrauch'],
  intro: ['Calls, tokens and cost of this organization.', 'Aufrufe, Tokens und Kosten dieser Organisation.'],
  days: ['Last {days} days', 'Letzte {days} Tage'],
  groupBy: ['Group by', 'Gruppieren nach'],
  model: ['Model', 'Modell'],
  key: ['Key', 'Schlüssel'],
  route: ['Route', 'Route'],
  requests: ['Requests', 'Anfragen'],
  promptTokens: ['Prompt tokens', 'Prompt-Tokens'],
  cachedTokens: ['Cached', 'Aus dem Cache'],
  completionTokens: ['Completion tokens', 'Antwort-Tokens'],
  cost: ['Cost', 'Kosten'],
  csv: ['Download CSV', 'CSV herunterladen'],
  empty: ['No calls in this period.', 'Keine Aufrufe in diesem Zeitraum.'],
  allModels: ['All models', 'Alle Modelle'],
  perDay: ['per day', 'pro Tag'],
  period: ['Period', 'Zeitraum'],
  measure: ['Show', 'Anzeigen'],
  compareKeys: ['Compare keys', 'Schlüssel vergleichen'],
  allKeys: ['All keys', 'Alle Schlüssel'],
  deletedKey: ['{id} (deleted)', '{id} (gelöscht)'],
});

/** Texts of the overview. */
export const useOverviewMessages = defineMessages({
  title: ['Overview', 'Übersicht'],
  intro: ['Calls of models by this organization.', 'Modellaufrufe dieser Organisation.'],
  period: ['Period', 'Zeitraum'],
  periods: {
    '1h': ['1 hour', '1 Stunde'],
    '24h': ['24 hours', '24 Stunden'],
    '7d': ['7 days', '7 Tage'],
    '30d': ['30 days', '30 Tage'],
  },
  tokens: ['Tokens', 'Tokens'],
  errors: ['Failed calls', 'Fehlgeschlagene Aufrufe'],
  errorShare: [
    '{share} of the calls; rejected requests (4xx) are not calls',
    '{share} der Aufrufe; abgelehnte Anfragen (4xx) zählen nicht',
  ],
  requestsAndErrors: ['Requests and errors', 'Anfragen und Fehler'],
  firstToken: ['Time to first token', 'Zeit bis zum ersten Token'],
  latency: ['Latency', 'Antwortzeit'],
  percentiles: ['p50 / p95', 'p50 / p95'],
  cacheRate: ['Prompt cache hit rate', 'Trefferquote des Prompt-Caches'],
  credits: ['Credits left', 'Guthaben'],
  unlimited: ['Unlimited', 'Unbegrenzt'],
  byModel: ['By model', 'Nach Modell'],
});
