import type { Messages } from '../en/index.ts';

export const members: Messages['members'] = {
  title: 'Mitglieder',
  intro: 'Personen, die sich an der Konsole anmelden, und ihre Rechte in dieser Organisation.',
  invite: 'Einladen',
  inviteTitle: 'Person einladen',
  role: 'Rolle',
  roles: { owner: 'Eigentümer', developer: 'Entwickler', viewer: 'Leser' },
  roleHints: {
    owner: 'Alles, auch Schlüssel und Mitglieder',
    developer: 'Modelle, Dateien, Wissensbasen und Richtlinien',
    viewer: 'Nur lesen',
  },
  note: 'Für wen',
  link: 'Einladungslink',
  linkText: 'Senden Sie diesen Link an die Person. Er gilt einmal und läuft nach sieben Tagen ab.',
  invitations: 'Offene Einladungen',
  withdraw: 'Zurückziehen',
  remove: 'Entfernen',
  removeText: 'Die Person verliert sofort den Zugang zu dieser Organisation.',
  you: 'Sie',
  operator: 'Betreiber',
  expires: 'Läuft ab',
  reset: 'Passwort zurücksetzen',
  resetText:
    'Erzeugt einen Link, mit dem die Person ein neues Passwort setzt. Er gilt einmal, einen Tag lang, und beendet die Sitzungen der Person.',
  resetLinkText: 'Senden Sie diesen Link an die Person. Er gilt einmal und läuft nach einem Tag ab.',
  resetLink: 'Link für ein neues Passwort',
};
