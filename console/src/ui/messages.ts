import { defineMessages } from './language.tsx';

/** Name of the product, in every language. */
export const PRODUCT = 'Quire';

/** Texts that every part may show. */
export const useCommonMessages = defineMessages({
  loading: ['Loading', 'Wird geladen'],
  retry: ['Try again', 'Erneut versuchen'],
  more: ['Load more', 'Weitere laden'],
  cancel: ['Cancel', 'Abbrechen'],
  create: ['Create', 'Anlegen'],
  save: ['Save', 'Speichern'],
  delete: ['Delete', 'Löschen'],
  close: ['Close', 'Schließen'],
  copy: ['Copy', 'Kopieren'],
  copied: ['Copied', 'Kopiert'],
  name: ['Name', 'Name'],
  status: ['Status', 'Status'],
  created: ['Created', 'Erstellt'],
  size: ['Size', 'Größe'],
  actions: ['Actions', 'Aktionen'],
  never: ['Never', 'Nie'],
  none: ['None', 'Keine'],
  requestId: ['Request', 'Anfrage'],
  denied: ['Your role may not see this page.', 'Ihre Rolle darf diese Seite nicht sehen.'],
  unreachable: ['The service cannot be reached.', 'Der Dienst ist nicht erreichbar.'],
  loadsAgain: [
    'This page opens as soon as the service answers.',
    'Die Seite öffnet sich, sobald der Dienst antwortet.',
  ],
  sessionEnded: ['Your session has ended.', 'Ihre Sitzung ist beendet.'],
  signInAgain: ['Sign in again', 'Erneut anmelden'],
  readOnly: ['Your role may only read.', 'Ihre Rolle darf nur lesen.'],
  notFound: ['This page does not exist.', 'Diese Seite gibt es nicht.'],
  fillIn: ['Fill in this field.', 'Füllen Sie dieses Feld aus.'],
  chooseOne: ['Choose at least one.', 'Wählen Sie mindestens eins aus.'],
  tooShort: ['Enter at least {count} characters.', 'Geben Sie mindestens {count} Zeichen ein.'],
  notAnEmail: [
    'Enter an email address, such as ada@example.com.',
    'Geben Sie eine E-Mail-Adresse ein, zum Beispiel ada@example.com.',
  ],
  notAnObject: [
    'Enter a JSON object, such as {"year": 2024}.',
    'Geben Sie ein JSON-Objekt ein, zum Beispiel {"year": 2024}.',
  ],
  home: ['Go to the start page', 'Zur Startseite'],
  search: ['Search', 'Suchen'],
  time: ['Time', 'Zeit'],
  noData: ['No data in this period.', 'Keine Daten in diesem Zeitraum.'],
  showTable: ['Show as a table', 'Als Tabelle zeigen'],
  tooManyFiles: [
    'These are more than {limit} files. Upload them in parts, or use the command “quire ingest”.',
    'Das sind mehr als {limit} Dateien. Laden Sie sie in Teilen hoch, oder verwenden Sie den Befehl „quire ingest“.',
  ],
  noFiles: ['The folder has no files.', 'Der Ordner enthält keine Dateien.'],
  noMatches: ['Nothing matches these filters.', 'Nichts entspricht diesen Filtern.'],
  choose: ['Choose files', 'Dateien auswählen'],
  table: ['Table', 'Tabelle'],
  code: ['Code', 'Code'],
  about: ['About this page', 'Über diese Seite'],
  details: ['Details', 'Einzelheiten'],
});

/** Names of the statuses of resources. */
export const useStatusMessages = defineMessages({
  active: ['Active', 'Aktiv'],
  up: ['Up', 'Läuft'],
  down: ['Down', 'Ausgefallen'],
  not_loaded: ['Not loaded', 'Nicht geladen'],
  pulling: ['Pulling', 'Wird geladen'],
  revoked: ['Revoked', 'Widerrufen'],
  waiting: ['Waiting', 'Steht aus'],
  uploading: ['Uploading', 'Wird hochgeladen'],
  uploaded: ['Uploaded', 'Hochgeladen'],
  rejected: ['Not accepted', 'Nicht angenommen'],
  ready: ['Ready', 'Bereit'],
  processed: ['Processed', 'Verarbeitet'],
  queued: ['Queued', 'Wartet'],
  processing: ['Processing', 'In Arbeit'],
  running: ['Running', 'Läuft'],
  indexing: ['Indexing', 'Wird indiziert'],
  validating: ['Validating', 'Wird geprüft'],
  in_progress: ['In progress', 'Läuft'],
  finalizing: ['Finalizing', 'Wird abgeschlossen'],
  completed: ['Completed', 'Fertig'],
  failed: ['Failed', 'Fehlgeschlagen'],
  error: ['Error', 'Fehler'],
  expired: ['Expired', 'Abgelaufen'],
  cancelling: ['Cancelling', 'Wird abgebrochen'],
  cancelled: ['Cancelled', 'Abgebrochen'],
});
/** The common texts in one language. */
export type CommonMessages = ReturnType<typeof useCommonMessages>;
/** The names of statuses in one language. */
export type StatusMessages = ReturnType<typeof useStatusMessages>;
