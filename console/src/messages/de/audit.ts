import type { Messages } from '../en/index.ts';

export const audit: Messages['audit'] = {
  title: 'Audit-Protokoll',
  intro: 'Wer Schlüssel, Richtlinien, Wissensbasen, Mitglieder und Guthaben geändert hat.',
  action: 'Aktion',
  actor: 'Akteur',
  resource: 'Objekt',
  address: 'Adresse',
  time: 'Zeit',
  changes: 'Änderungen',
  empty: 'Noch keine Ereignisse.',
  noMatch: 'Kein Ereignis entspricht dem Filter.',
  allActions: 'Alle Aktionen',
  actorId: 'ID des Akteurs',
  resourceId: 'ID des Objekts',
  from: 'Von',
  to: 'Bis',
  clear: 'Filter aufheben',
  only: 'Nur Ereignisse von {id}',
};
