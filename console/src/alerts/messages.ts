import { defineMessages } from '../ui/language.tsx';

/** Texts of the page of alerts. */
export const useAlertPageMessages = defineMessages({
  title: ['Alerts', 'Meldungen'],
  intro: ['Open and resolved alerts of the last 90 days.', 'Offene und behobene Meldungen der letzten 90 Tage.'],
  empty: ['No alerts yet.', 'Noch keine Meldungen.'],
});

/** Texts of the channels of alerts. */
export const useAlertChannelMessages = defineMessages({
  title: ['Channels', 'Kanäle'],
  intro: [
    'Alerts are sent to every channel when they open and when they are resolved.',
    'Meldungen gehen an jeden Kanal, wenn sie entstehen und wenn sie behoben sind.',
  ],
  empty: [
    'No channels yet: alerts appear in the console only.',
    'Noch keine Kanäle: Meldungen erscheinen nur in der Konsole.',
  ],
  create: ['Add channel', 'Kanal hinzufügen'],
  edit: ['Change channel', 'Kanal ändern'],
  editAction: ['Change', 'Ändern'],
  newSecret: ['New secret', 'Neues Geheimnis'],
  newSecretHint: [
    'Shown once, after saving. Messages are no longer signed with the old one.',
    'Wird nach dem Speichern einmal angezeigt. Das alte signiert keine Nachrichten mehr.',
  ],
  type: ['Type', 'Art'],
  types: { email: ['Email', 'E-Mail'], webhook: ['Webhook', 'Webhook'] },
  target: ['Sent to', 'Geht an'],
  addresses: ['Addresses', 'Adressen'],
  addressesHint: ['Press Enter after each address.', 'Drücken Sie nach jeder Adresse die Eingabetaste.'],
  url: ['Address', 'Adresse'],
  urlHint: [
    'Gets signed POST requests by Standard Webhooks.',
    'Erhält signierte POST-Anfragen nach Standard Webhooks.',
  ],
  instance: ['Also alerts of the instance', 'Auch Meldungen der Instanz'],
  instanceHint: ['Late backups and unhealthy servers.', 'Verspätete Backups und gestörte Server.'],
  secretTitle: ['Secret of the webhook', 'Geheimnis des Webhooks'],
  secretText: [
    'Copy the secret now: it is shown only once. The receiver checks signatures with it.',
    'Kopieren Sie das Geheimnis jetzt: Es wird nur einmal angezeigt. Der Empfänger prüft damit die Signaturen.',
  ],
  test: ['Send test', 'Test senden'],
  log: ['Deliveries', 'Zustellungen'],
  logEmpty: ['Nothing was sent yet.', 'Noch wurde nichts gesendet.'],
  message: ['Message', 'Nachricht'],
  attempts: ['Attempts', 'Versuche'],
  states: {
    pending: ['Waiting', 'Wartet'],
    delivered: ['Delivered', 'Zugestellt'],
    failed: ['Failed', 'Fehlgeschlagen'],
  },
  deleteText: [
    'Alerts are no longer sent there. Messages that wait are not sent.',
    'Meldungen gehen nicht mehr dorthin. Wartende Nachrichten werden nicht gesendet.',
  ],
});

/** Texts of budgets. */
export const useBudgetMessages = defineMessages({
  title: ['Budgets', 'Budgets'],
  intro: [
    'Monthly cost limits (UTC) of the organization or of groups of keys and people.',
    'Monatliche Kostengrenzen (UTC) der Organisation oder von Gruppen aus Schlüsseln und Personen.',
  ],
  empty: [
    'No budgets yet. Create one to be alerted to high costs.',
    'Noch keine Budgets. Ein Budget meldet hohe Kosten.',
  ],
  create: ['Create budget', 'Budget anlegen'],
  edit: ['Change budget', 'Budget ändern'],
  editAction: ['Change', 'Ändern'],
  amount: ['Amount per month', 'Betrag pro Monat'],
  spent: ['Spent', 'Verbraucht'],
  forecast: ['Forecast', 'Prognose'],
  all: ['The whole organization', 'Die ganze Organisation'],
  group: ['{count} keys and people', '{count} Schlüssel und Personen'],
  members: ['Keys and people', 'Schlüssel und Personen'],
  membersHint: ['Leave empty for the whole organization.', 'Leer lassen für die ganze Organisation.'],
  thresholds: ['Alerts at', 'Meldungen bei'],
  thresholdsHint: ['Percentages, such as 50, 80 and 100.', 'Prozentwerte, zum Beispiel 50, 80 und 100.'],
  enforced: ['Reject calls beyond the amount', 'Aufrufe über den Betrag hinaus ablehnen'],
  enforcedHint: [
    'Rejected calls get status 402 (insufficient_credits) until the month ends.',
    'Abgelehnte Aufrufe erhalten bis zum Monatsende den Status 402 (insufficient_credits).',
  ],
  effect: ['At 100 %', 'Bei 100 %'],
  rejects: ['Calls are rejected', 'Aufrufe werden abgelehnt'],
  alerts: ['Alert only', 'Nur Meldung'],
  deleteText: [
    'The budget no longer raises alerts or limits calls.',
    'Das Budget löst keine Meldungen mehr aus und begrenzt keine Aufrufe mehr.',
  ],
});
