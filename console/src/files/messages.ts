import { defineMessages } from '../ui/language.tsx';

/** Texts of files and uploads. */
export const useFileMessages = defineMessages({
  title: ['Files', 'Dateien'],
  intro: ['Uploaded files of this organization.', 'Hochgeladene Dateien dieser Organisation.'],
  purpose: ['Purpose', 'Zweck'],
  empty: ['No files yet.', 'Noch keine Dateien.'],
  deleteText: [
    'Documents that were made from this file stay until their data source is deleted.',
    'Dokumente aus dieser Datei bleiben, bis ihre Datenquelle gelöscht wird.',
  ],
  upload: ['Upload file', 'Datei hochladen'],
  file: ['File', 'Datei'],
  purposeHint: [
    'Batches and fine-tuning need a .jsonl file.',
    'Batches und Feinabstimmung brauchen eine .jsonl-Datei.',
  ],
  search: ['Search files by name', 'Dateien nach Namen suchen'],
  download: ['Download', 'Herunterladen'],
  limits: ['{extensions}, up to {limit} per file.', '{extensions}, bis zu {limit} je Datei.'],
  defects: {
    type: [
      'Not uploaded: files of this type are not accepted. Accepted: {extensions}.',
      'Nicht hochgeladen: Dateien dieses Typs werden nicht angenommen. Angenommen werden {extensions}.',
    ],
    empty: ['Not uploaded: the file is empty.', 'Nicht hochgeladen: Die Datei ist leer.'],
    tooLarge: [
      'Not uploaded: the file is larger than the limit of {limit}.',
      'Nicht hochgeladen: Die Datei überschreitet die Grenze von {limit}.',
    ],
  },
});
