import { defineMessages } from '../ui/language.tsx';

/** Texts of files and uploads. */
export const useFileMessages = defineMessages({
  en: {
    title: 'Files',
    intro: 'Uploaded files of this organization.',
    purpose: 'Purpose',
    empty: 'No files yet.',
    deleteText: 'Documents that were made from this file stay until their data source is deleted.',
    upload: 'Upload file',
    file: 'File',
    purposeHint: 'Batches and fine-tuning need a .jsonl file.',
    search: 'Search files by name',
    download: 'Download',
    limits: '{extensions}, up to {limit} per file.',
    defects: {
      type: 'Not uploaded: files of this type are not accepted. Accepted: {extensions}.',
      empty: 'Not uploaded: the file is empty.',
      tooLarge: 'Not uploaded: the file is larger than the limit of {limit}.',
    },
  },
  de: {
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
  },
});
