import { defineMessages } from '../ui/language.tsx';

/** Texts of the configuration of the instance. */
export const useConfigurationMessages = defineMessages({
  title: ['Configuration', 'Konfiguration'],
  intro: [
    'Settings of this instance that are in force, and where each value comes from. They are changed in the configuration file or the environment.',
    'Die geltenden Einstellungen dieser Instanz und die Herkunft jedes Werts. Geändert werden sie in der Konfigurationsdatei oder in der Umgebung.',
  ],
  file: ['Configuration file: {path}', 'Konfigurationsdatei: {path}'],
  noFile: [
    'There is no configuration file: values come from the environment and the defaults.',
    'Es gibt keine Konfigurationsdatei: Werte kommen aus der Umgebung und den Vorgaben.',
  ],
  limits: ['Limits and retention', 'Grenzen und Aufbewahrung'],
  others: ['All other settings', 'Alle anderen Einstellungen'],
  models: ['Models of the configuration file', 'Modelle der Konfigurationsdatei'],
  setting: ['Setting', 'Einstellung'],
  value: ['Value', 'Wert'],
  origin: ['Origin', 'Herkunft'],
  unset: ['not set', 'nicht gesetzt'],
  hidden: ['set, not shown', 'gesetzt, wird nicht gezeigt'],
  origins: {
    default: ['default', 'Vorgabe'],
    file: ['{file}, line {line}', '{file}, Zeile {line}'],
    environment: ['{variable}', '{variable}'],
    'command line': ['command line', 'Kommandozeile'],
  },
  defaultValue: ['Default: {value}', 'Vorgabe: {value}'],
  unknown: [
    'These variables are unknown and ignored: {names}',
    'Diese Variablen sind unbekannt und werden ignoriert: {names}',
  ],
  binding: ['Binding', 'Bindung'],
  apiKey: ['API key is set', 'API-Schlüssel gesetzt'],
  noneFound: ['No setting matches.', 'Keine Einstellung passt.'],
});

/** Texts of organizations. */
export const useOrganizationMessages = defineMessages({
  title: ['Organizations', 'Organisationen'],
  intro: [
    'Tenants of this instance. Each owns its keys, members and data.',
    'Mandanten dieser Instanz. Jeder besitzt seine Schlüssel, Mitglieder und Daten.',
  ],
  create: ['Create organization', 'Organisation anlegen'],
  rename: ['Rename', 'Umbenennen'],
  nameHint: ['Letters, digits, spaces, and . _ -', 'Buchstaben (A–Z), Ziffern, Leerzeichen und . _ -'],
  deleteText: [
    'All keys and sessions of the organization end at once. Its files, knowledge bases, batches and policies are deleted for good. Usage, credit transactions and the audit log stay.',
    'Alle Schlüssel und Sitzungen der Organisation enden sofort. Ihre Dateien, Wissensbasen, Batches und Richtlinien werden endgültig gelöscht. Verbrauch, Guthabenbuchungen und Audit-Protokoll bleiben.',
  ],
  credits: ['Credits', 'Guthaben'],
  unlimited: ['Unlimited', 'Unbegrenzt'],
  change: ['Change credits', 'Guthaben ändern'],
  changeOf: ['Change the credits of {name}', 'Guthaben von {name} ändern'],
  newBalance: ['New balance', 'Neues Guthaben'],
  amount: ['Amount', 'Betrag'],
  setHint: [
    'The balance is unlimited now. Calls fail when the new one is used up.',
    'Das Guthaben ist jetzt unbegrenzt. Aufrufe schlagen fehl, sobald das neue verbraucht ist.',
  ],
  adjustHint: [
    'Added to the balance; a negative amount is subtracted.',
    'Wird zum Guthaben addiert; ein negativer Betrag wird abgezogen.',
  ],
  note: ['Reason', 'Grund'],
  ledger: ['Transactions', 'Buchungen'],
  noTransactions: ['No transactions yet.', 'Noch keine Buchungen.'],
  kind: ['Kind', 'Art'],
  kinds: {
    set: ['Set', 'Festgelegt'],
    unlimited: ['Unlimited', 'Unbegrenzt'],
    adjustment: ['Adjustment', 'Anpassung'],
  },
});

/** Texts of the audit log. */
export const useAuditMessages = defineMessages({
  title: ['Audit log', 'Audit-Protokoll'],
  intro: [
    'Who changed keys, policies, knowledge bases, members and credits.',
    'Wer Schlüssel, Richtlinien, Wissensbasen, Mitglieder und Guthaben geändert hat.',
  ],
  action: ['Action', 'Aktion'],
  actor: ['Actor', 'Akteur'],
  resource: ['Resource', 'Objekt'],
  address: ['Address', 'Adresse'],
  time: ['Time', 'Zeit'],
  changes: ['Changes', 'Änderungen'],
  empty: ['No events yet.', 'Noch keine Ereignisse.'],
  noMatch: ['No event matches the filter.', 'Kein Ereignis entspricht dem Filter.'],
  allActions: ['All actions', 'Alle Aktionen'],
  actorId: ['Id of the actor', 'ID des Akteurs'],
  resourceId: ['Id of the resource', 'ID des Objekts'],
  from: ['From', 'Von'],
  to: ['To', 'Bis'],
  clear: ['Clear the filter', 'Filter aufheben'],
  only: ['Only events of {id}', 'Nur Ereignisse von {id}'],
});
