import type { Messages } from '../en/index.ts';

export const settings: Messages['settings'] = {
  title: 'Einstellungen',
  password: 'Passwort ändern',
  current: 'Aktuelles Passwort',
  next: 'Neues Passwort',
  changed: 'Das Passwort wurde geändert. Alle anderen Sitzungen sind beendet.',
  languageTitle: 'Sprache',
  connect: 'Verbinden',
  connected: 'Ihr Konto ist verbunden: Sie können sich mit {name} anmelden.',
  notConnected: 'Verbinden Sie Ihr Konto, um sich auch mit {name} anzumelden.',
  resetTitle: 'Neues Passwort setzen',
  resetIntro: 'Dieser Link gilt einmal. Alle Ihre Sitzungen enden.',
  resetSubmit: 'Passwort setzen',
  resetMissing: 'Dieser Link ist unvollständig. Öffnen Sie den ganzen Link, auch den Teil nach #.',
};
