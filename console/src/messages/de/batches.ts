import type { Messages } from '../en/index.ts';

export const batches: Messages['batches'] = {
  title: 'Batches',
  intro: 'Bis zu 50.000 Anfragen in einer Datei, im Hintergrund und zum halben Preis.',
  create: 'Batch anlegen',
  file: 'Eingabedatei (JSON Lines)',
  endpoint: 'Endpunkt',
  progress: 'Fortschritt',
  empty: 'Noch keine Batches.',
  output: 'Ergebnisse',
  errors: 'Fehler',
  cancelBatch: 'Abbrechen',
};
