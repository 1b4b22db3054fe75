import type { Messages } from '../en/index.ts';

export const signIn: Messages['signIn'] = {
  title: 'Anmelden',
  email: 'E-Mail',
  password: 'Passwort',
  submit: 'Anmelden',
  noAccount:
    'Noch kein Konto? Ein Eigentümer Ihrer Organisation kann Ihnen einen Einladungslink senden. Das erste Konto legt der Link an, den der Dienst beim Start ausgegeben hat.',
  continueWith: 'Weiter mit {name}',
  or: 'oder mit Ihrem Passwort',
  errors: {
    denied: 'Der Anmeldedienst hat die Anmeldung abgelehnt.',
    expired: 'Die Anmeldung hat zu lange gedauert oder begann in einem anderen Browser. Versuchen Sie es erneut.',
    issuer_unavailable: 'Der Anmeldedienst antwortet nicht. Versuchen Sie es erneut, oder nutzen Sie Ihr Passwort.',
    invalid_response: 'Die Antwort des Anmeldedienstes ist ungültig. Versuchen Sie es erneut.',
    email_unverified: 'Der Anmeldedienst hat Ihre E-Mail-Adresse nicht bestätigt.',
    domain_not_allowed: 'Die Domain Ihrer E-Mail-Adresse darf sich hier nicht anmelden.',
    account_exists:
      'Für Ihre E-Mail-Adresse gibt es schon ein Konto. Melden Sie sich mit dessen Passwort an, und verbinden Sie es in den Einstellungen mit dem Anmeldedienst.',
    unknown_user: 'Sie haben noch kein Konto. Bitten Sie einen Eigentümer Ihrer Organisation um eine Einladung.',
    no_role: 'Ihre Gruppen haben in diesem Dienst keine Rolle. Wenden Sie sich an den Betreiber.',
    invalid_invitation:
      'Diese Einladung wurde benutzt, zurückgezogen oder ist abgelaufen. Bitten Sie um einen neuen Link.',
    last_owner:
      'Sie sind der einzige Eigentümer dieser Organisation. Machen Sie erst ein anderes Mitglied zum Eigentümer, bevor Sie eine andere Rolle annehmen.',
    identity_in_use: 'Ihr Konto beim Anmeldedienst ist schon mit einem anderen Konto verbunden.',
    session_ended:
      'Ihre Sitzung endete, während Ihr Konto verbunden wurde. Melden Sie sich an, und verbinden Sie es erneut.',
    failed: 'Die Anmeldung ist fehlgeschlagen.',
  },
};
