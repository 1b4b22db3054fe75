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
  limits: '{extensions}, bis zu {limit} je Datei.',
  defects: {
    type: 'Nicht hochgeladen: Dateien dieses Typs werden nicht angenommen. Angenommen werden {extensions}.',
    empty: 'Nicht hochgeladen: Die Datei ist leer.',
    tooLarge: 'Nicht hochgeladen: Die Datei überschreitet die Grenze von {limit}.',
  },
  tooMany:
    'Das sind mehr als {limit} Dateien. Laden Sie sie in Teilen hoch, oder verwenden Sie den Befehl „quire ingest“.',
  noFiles: 'Der Ordner enthält keine Dateien.',
};
