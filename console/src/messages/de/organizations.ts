import type { Messages } from '../en/index.ts';

export const organizations: Messages['organizations'] = {
  title: 'Organisationen',
  intro: 'Mandanten dieser Instanz. Jeder besitzt seine Schlüssel, Mitglieder und Daten.',
  create: 'Organisation anlegen',
  rename: 'Umbenennen',
  nameHint: 'Buchstaben (A–Z), Ziffern, Leerzeichen und . _ -',
  deleteText:
    'Alle Schlüssel und Sitzungen der Organisation enden sofort. Ihre Dateien, Wissensbasen, Batches und Richtlinien werden endgültig gelöscht. Verbrauch, Guthabenbuchungen und Audit-Protokoll bleiben.',
  credits: 'Guthaben',
  unlimited: 'Unbegrenzt',
  change: 'Guthaben ändern',
  changeOf: 'Guthaben von {name} ändern',
  newBalance: 'Neues Guthaben',
  amount: 'Betrag',
  setHint: 'Das Guthaben ist jetzt unbegrenzt. Aufrufe schlagen fehl, sobald das neue verbraucht ist.',
  adjustHint: 'Wird zum Guthaben addiert; ein negativer Betrag wird abgezogen.',
  note: 'Grund',
  ledger: 'Buchungen',
  noTransactions: 'Noch keine Buchungen.',
  kind: 'Art',
  kinds: { set: 'Festgelegt', unlimited: 'Unbegrenzt', adjustment: 'Anpassung' },
};
