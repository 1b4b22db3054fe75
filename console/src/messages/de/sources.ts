import type { Messages } from '../en/index.ts';

export const sources: Messages['sources'] = {
  add: 'Datenquelle hinzufügen',
  edit: 'Datenquelle bearbeiten',
  type: 'Art',
  types: {
    file_upload: 'Hochgeladene Dateien',
    web_crawl: 'Website',
    s3: 'Amazon S3',
    gcs: 'Google Cloud Storage',
    confluence: 'Confluence',
    notion: 'Notion',
    google_drive: 'Google Drive',
  },
  secretKept: 'Gespeichert; leer lassen, um es zu behalten',
  listHint: 'Eingabetaste fügt einen Eintrag hinzu',
  test: 'Verbindung testen',
  testPassed: 'Die Verbindung funktioniert. Erste Einträge:',
  testEmpty: 'Die Verbindung funktioniert, aber es wurde nichts gefunden.',
  deleteText: 'Das löscht die Datenquelle und ihre {documents} Dokumente mit ihren Abschnitten.',
  syncText: 'Liest neue und geänderte Einträge und entfernt gelöschte.',
};
