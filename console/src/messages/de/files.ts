import type { Messages } from '../en/index.ts';

export const files: Messages['files'] = {
  title: 'Dateien',
  intro: 'Hochgeladene Dateien dieser Organisation.',
  purpose: 'Zweck',
  empty: 'Noch keine Dateien.',
  deleteText: 'Dokumente aus dieser Datei bleiben, bis ihre Datenquelle gelöscht wird.',
  upload: 'Datei hochladen',
  file: 'Datei',
  purposeHint: 'Batches und Feinabstimmung brauchen eine .jsonl-Datei.',
  search: 'Dateien nach Namen suchen',
  download: 'Herunterladen',
};
