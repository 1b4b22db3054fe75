import { defineMessages } from '../ui/language.tsx';

/** Texts of the sign-in page. */
export const useSignInMessages = defineMessages({
  title: ['Sign in', 'Anmelden'],
  email: ['Email', 'E-Mail'],
  password: ['Password', 'Passwort'],
  submit: ['Sign in', 'Anmelden'],
  noAccount: [
    'No account yet? An owner of your organization can send you an invitation link. The first account is created with the link that the service printed at its start.',
    'Noch kein Konto? Ein Eigentümer Ihrer Organisation kann Ihnen einen Einladungslink senden. Das erste Konto legt der Link an, den der Dienst beim Start ausgegeben hat.',
  ],
  continueWith: ['Continue with {name}', 'Weiter mit {name}'],
  or: ['or with your password', 'oder mit Ihrem Passwort'],
  errors: {
    denied: ['The sign-in provider refused the sign-in.', 'Der Anmeldedienst hat die Anmeldung abgelehnt.'],
    expired: [
      'The sign-in took too long, or was started in another browser. Try again.',
      'Die Anmeldung hat zu lange gedauert oder begann in einem anderen Browser. Versuchen Sie es erneut.',
    ],
    issuer_unavailable: [
      'The sign-in provider does not respond. Try again, or use your password.',
      'Der Anmeldedienst antwortet nicht. Versuchen Sie es erneut, oder nutzen Sie Ihr Passwort.',
    ],
    invalid_response: [
      'The response of the sign-in provider is not valid. Try again.',
      'Die Antwort des Anmeldedienstes ist ungültig. Versuchen Sie es erneut.',
    ],
    email_unverified: [
      'The sign-in provider has not verified your email address.',
      'Der Anmeldedienst hat Ihre E-Mail-Adresse nicht bestätigt.',
    ],
    domain_not_allowed: [
      'The domain of your email address may not sign in here.',
      'Die Domain Ihrer E-Mail-Adresse darf sich hier nicht anmelden.',
    ],
    account_exists: [
      'An account with your email address exists. Sign in with its password, and connect it with the sign-in provider under Settings.',
      'Für Ihre E-Mail-Adresse gibt es schon ein Konto. Melden Sie sich mit dessen Passwort an, und verbinden Sie es in den Einstellungen mit dem Anmeldedienst.',
    ],
    unknown_user: [
      'You have no account yet. Ask an owner of your organization for an invitation.',
      'Sie haben noch kein Konto. Bitten Sie einen Eigentümer Ihrer Organisation um eine Einladung.',
    ],
    no_role: [
      'Your groups have no role in this service. Ask its operator.',
      'Ihre Gruppen haben in diesem Dienst keine Rolle. Wenden Sie sich an den Betreiber.',
    ],
    invalid_invitation: [
      'This invitation was used, withdrawn or has expired. Ask for a new link.',
      'Diese Einladung wurde benutzt, zurückgezogen oder ist abgelaufen. Bitten Sie um einen neuen Link.',
    ],
    last_owner: [
      'You are the only owner of this organization. Make another member owner before you accept another role.',
      'Sie sind der einzige Eigentümer dieser Organisation. Machen Sie erst ein anderes Mitglied zum Eigentümer, bevor Sie eine andere Rolle annehmen.',
    ],
    identity_in_use: [
      'Your account at the sign-in provider is already connected with another account.',
      'Ihr Konto beim Anmeldedienst ist schon mit einem anderen Konto verbunden.',
    ],
    session_ended: [
      'Your session ended while your account was being connected. Sign in and connect it again.',
      'Ihre Sitzung endete, während Ihr Konto verbunden wurde. Melden Sie sich an, und verbinden Sie es erneut.',
    ],
    failed: ['The sign-in failed.', 'Die Anmeldung ist fehlgeschlagen.'],
  },
});

/** Texts of accepting an invitation. */
export const useJoinMessages = defineMessages({
  title: ['Create your account', 'Konto anlegen'],
  intro: [
    'This link works once. If an account exists for your email, enter its password.',
    'Dieser Link gilt einmal. Gibt es für Ihre E-Mail schon ein Konto, geben Sie dessen Passwort ein.',
  ],
  name: ['Name', 'Name'],
  submit: ['Create account', 'Konto anlegen'],
  missing: [
    'This link has no invitation. Open the whole link, including the part after #.',
    'Dieser Link enthält keine Einladung. Öffnen Sie den ganzen Link, auch den Teil nach #.',
  ],
});

/** Texts of the settings of a user. */
export const useSettingsMessages = defineMessages({
  title: ['Settings', 'Einstellungen'],
  chats: ['Chats of the organization', 'Chats der Organisation'],
  chatDays: ['Days after the last message', 'Tage nach der letzten Nachricht'],
  chatDaysHint: [
    'Chats of all people are deleted then. Empty: they are kept.',
    'Dann werden die Chats aller Personen gelöscht. Leer: Sie bleiben.',
  ],
  modelTitles: ['Models write the titles of chats', 'Modelle schreiben die Titel von Chats'],
  modelTitlesHint: [
    'A short call after the first answer, billed to the user. If disabled, the title is the first words of the chat.',
    'Ein kurzer Aufruf nach der ersten Antwort, der für die Person zählt. Sonst sind die ersten Wörter der Titel.',
  ],
  changeChatDays: ['Change chat settings', 'Chat-Einstellungen ändern'],
  chatDaysChanged: ['The settings were changed.', 'Die Einstellungen wurden geändert.'],
  recording: ['Recording of requests', 'Aufzeichnung von Anfragen'],
  records: ['Record prompts and answers', 'Prompts und Antworten aufzeichnen'],
  recordsHint: [
    'Records requests to models, but never chats of people. Owners can read the contents in the request log.',
    'Zeichnet Anfragen an Modelle auf, nie Chats von Personen. Owner können die Inhalte im Anfragenprotokoll lesen.',
  ],
  recordingDays: ['Retention in days', 'Aufbewahrung in Tagen'],
  redacted: ['Redact before storing', 'Vor dem Speichern schwärzen'],
  detectors: {
    email: ['Email addresses', 'E-Mail-Adressen'],
    phone: ['Phone numbers', 'Telefonnummern'],
    card: ['Card numbers', 'Kartennummern'],
    iban: ['IBANs', 'IBANs'],
    api_key: ['API keys', 'API-Schlüssel'],
  },
  patterns: ['Custom patterns', 'Eigene Muster'],
  patternsHint: ['One regular expression per line.', 'Ein regulärer Ausdruck je Zeile.'],
  changeRecording: ['Change recording', 'Aufzeichnung ändern'],
  recordingChanged: ['The recording was changed.', 'Die Aufzeichnung wurde geändert.'],
  deleteRecorded: ['Delete recorded contents', 'Aufgezeichnete Inhalte löschen'],
  deleteRecordedText: [
    'The prompts and answers of all requests of the organization are deleted. The requests stay in the log.',
    'Die Prompts und Antworten aller Anfragen der Organisation werden gelöscht. Die Anfragen bleiben im Protokoll.',
  ],
  password: ['Change password', 'Passwort ändern'],
  current: ['Current password', 'Aktuelles Passwort'],
  next: ['New password', 'Neues Passwort'],
  changed: [
    'The password was changed. All other sessions have ended.',
    'Das Passwort wurde geändert. Alle anderen Sitzungen sind beendet.',
  ],
  languageTitle: ['Language', 'Sprache'],
  connect: ['Connect', 'Verbinden'],
  connected: [
    'Your account is connected: you can sign in with {name}.',
    'Ihr Konto ist verbunden: Sie können sich mit {name} anmelden.',
  ],
  notConnected: [
    'Connect your account to sign in with {name} as well.',
    'Verbinden Sie Ihr Konto, um sich auch mit {name} anzumelden.',
  ],
  connectText: [
    'Enter your password. You then sign in there with the account that you want to connect.',
    'Geben Sie Ihr Passwort ein. Dann melden Sie sich dort mit dem Konto an, das Sie verbinden möchten.',
  ],
  identities: ['Single sign-on', 'Single Sign-on'],
  issuer: ['Issuer', 'Aussteller'],
  subject: ['Account there', 'Konto dort'],
  removeIdentity: ['Remove', 'Entfernen'],
  removeIdentityText: [
    'You cannot sign in with this account any more. All your other sessions end.',
    'Mit diesem Konto können Sie sich nicht mehr anmelden. Alle Ihre anderen Sitzungen enden.',
  ],
  removeIdentities: ['Remove all connected accounts', 'Alle verbundenen Konten entfernen'],
  removeIdentitiesHint: [
    'Accounts of the single sign-on stay connected and sign in without the password. Remove them if another person may have connected one.',
    'Konten des Single Sign-on bleiben verbunden und melden sich ohne das Passwort an. Entfernen Sie sie, wenn eine andere Person eines verbunden haben könnte.',
  ],
  sessions: ['Sessions', 'Sitzungen'],
  browser: ['Browser', 'Browser'],
  unknownBrowser: ['Unknown browser', 'Unbekannter Browser'],
  thisBrowser: ['this browser', 'dieser Browser'],
  signedInAt: ['Signed in', 'Angemeldet'],
  lastSeen: ['Last used', 'Zuletzt benutzt'],
  signOutText: ['This browser has to sign in again.', 'Dieser Browser muss sich neu anmelden.'],
  signOutOthers: ['Sign out of all other sessions', 'Alle anderen Sitzungen abmelden'],
  signOutOthersText: [
    'All browsers but this one have to sign in again.',
    'Alle Browser außer diesem müssen sich neu anmelden.',
  ],
  resetTitle: ['Set a new password', 'Neues Passwort setzen'],
  resetIntro: ['This link works once. All your sessions end.', 'Dieser Link gilt einmal. Alle Ihre Sitzungen enden.'],
  resetSubmit: ['Set password', 'Passwort setzen'],
  resetMissing: [
    'This link has no token. Open the whole link, including the part after #.',
    'Dieser Link ist unvollständig. Öffnen Sie den ganzen Link, auch den Teil nach #.',
  ],
});

/** Texts of the members of an organization. */
export const useMemberMessages = defineMessages({
  title: ['People', 'Personen'],
  intro: [
    'People who sign in to the console, and what they may do in this organization.',
    'Personen, die sich an der Konsole anmelden, und ihre Rechte in dieser Organisation.',
  ],
  invite: ['Invite', 'Einladen'],
  inviteTitle: ['Invite a person', 'Person einladen'],
  role: ['Role', 'Rolle'],
  roles: {
    owner: ['Owner', 'Eigentümer'],
    developer: ['Developer', 'Entwickler'],
    viewer: ['Viewer', 'Leser'],
  },
  roleHints: {
    owner: ['Everything, including keys and members', 'Alles, auch Schlüssel und Mitglieder'],
    developer: ['Models, files, knowledge bases and policies', 'Modelle, Dateien, Wissensbasen und Richtlinien'],
    viewer: ['Reads only', 'Nur lesen'],
  },
  note: ['For whom', 'Für wen'],
  linkText: [
    'Send this link to the person. It works once and expires in seven days.',
    'Senden Sie diesen Link an die Person. Er gilt einmal und läuft nach sieben Tagen ab.',
  ],
  invitations: ['Open invitations', 'Offene Einladungen'],
  withdraw: ['Withdraw', 'Zurückziehen'],
  remove: ['Remove', 'Entfernen'],
  removeText: [
    'The person loses access to this organization at once.',
    'Die Person verliert sofort den Zugang zu dieser Organisation.',
  ],
  you: ['you', 'Sie'],
  operator: ['operator', 'Betreiber'],
  expires: ['Expires', 'Läuft ab'],
  reset: ['Reset password', 'Passwort zurücksetzen'],
  resetText: [
    'Creates a link with which the person sets a new password. It works once, for a day, and ends the sessions of the person.',
    'Erzeugt einen Link, mit dem die Person ein neues Passwort setzt. Er gilt einmal, einen Tag lang, und beendet die Sitzungen der Person.',
  ],
  resetLinkText: [
    'Send this link to the person. It works once and expires in a day.',
    'Senden Sie diesen Link an die Person. Er gilt einmal und läuft nach einem Tag ab.',
  ],
  resetLink: ['Link for a new password', 'Link für ein neues Passwort'],
});
