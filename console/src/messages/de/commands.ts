import type { Messages } from '../en/index.ts';

export const commands: Messages['commands'] = {
  open: 'Suche und Befehle',
  placeholder: 'Seiten, Wissensbasen, Modelle, Schlüssel suchen …',
  empty: 'Nichts gefunden.',
  pages: 'Seiten',
  create: 'Anlegen',
  newKnowledgeBase: 'Neue Wissensbasis',
  newBatch: 'Neuer Batch',
  newPolicy: 'Neue Richtlinie',
  newKey: 'Neuer API-Schlüssel',
  switchTo: 'Wechseln',
  theme: 'Zwischen hell und dunkel wechseln',
  language: 'Sprache: {name}',
  organization: 'Organisation: {name}',
  help: 'Tastenkürzel',
  shortcuts: {
    palette: 'Suche und Befehle',
    help: 'Diese Übersicht',
    next: 'Nächstes oder voriges Element',
    choose: 'In Listen und Menüs wählen',
    activate: 'Auslösen',
    close: 'Dialog oder Menü schließen',
  },
};
