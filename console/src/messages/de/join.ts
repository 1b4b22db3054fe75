import type { Messages } from '../en/index.ts';

export const join: Messages['join'] = {
  title: 'Konto anlegen',
  intro: 'Dieser Link gilt einmal. Gibt es für Ihre E-Mail schon ein Konto, geben Sie dessen Passwort ein.',
  name: 'Name',
  submit: 'Konto anlegen',
  missing: 'Dieser Link enthält keine Einladung. Öffnen Sie den ganzen Link, auch den Teil nach #.',
  passwordHint: 'Mindestens 10 Zeichen.',
};
