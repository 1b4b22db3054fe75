import type { Messages } from '../en/index.ts';

export const configuration: Messages['configuration'] = {
  title: 'Konfiguration',
  intro:
    'Die geltenden Einstellungen dieser Instanz und die Herkunft jedes Werts. Geändert werden sie in der Konfigurationsdatei oder in der Umgebung.',
  file: 'Konfigurationsdatei: {path}',
  noFile: 'Es gibt keine Konfigurationsdatei: Werte kommen aus der Umgebung und den Vorgaben.',
  limits: 'Grenzen und Aufbewahrung',
  others: 'Alle anderen Einstellungen',
  models: 'Modelle der Konfigurationsdatei',
  setting: 'Einstellung',
  value: 'Wert',
  origin: 'Herkunft',
  unset: 'nicht gesetzt',
  hidden: 'gesetzt, wird nicht gezeigt',
  origins: {
    default: 'Vorgabe',
    file: '{file}, Zeile {line}',
    environment: '{variable}',
    'command line': 'Kommandozeile',
  },
  defaultValue: 'Vorgabe: {value}',
  unknown: 'Diese Variablen sind unbekannt und werden ignoriert: {names}',
  binding: 'Bindung',
  apiKey: 'API-Schlüssel gesetzt',
  noneFound: 'Keine Einstellung passt.',
};
