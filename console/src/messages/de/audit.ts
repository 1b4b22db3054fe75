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
};
