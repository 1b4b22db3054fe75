import type { Messages } from '../en/index.ts';

export const statuses: Messages['statuses'] = {
  active: 'Aktiv',
  up: 'Läuft',
  down: 'Ausgefallen',
  not_loaded: 'Nicht geladen',
  pulling: 'Wird geladen',
  revoked: 'Widerrufen',
  uploaded: 'Hochgeladen',
  processed: 'Verarbeitet',
  queued: 'Wartet',
  processing: 'In Arbeit',
  indexing: 'Wird indiziert',
  validating: 'Wird geprüft',
  in_progress: 'Läuft',
  finalizing: 'Wird abgeschlossen',
  completed: 'Fertig',
  failed: 'Fehlgeschlagen',
  error: 'Fehler',
  expired: 'Abgelaufen',
  cancelling: 'Wird abgebrochen',
  cancelled: 'Abgebrochen',
};
