import type { Messages } from '../en/index.ts';

export const signIn: Messages['signIn'] = {
  title: 'Anmelden',
  email: 'E-Mail',
  password: 'Passwort',
  submit: 'Anmelden',
  noAccount:
    'Noch kein Konto? Ein Eigentümer Ihrer Organisation kann Ihnen einen Einladungslink senden. Das erste Konto legt der Link an, den der Dienst beim Start ausgegeben hat.',
};
