import { defineMessages } from '../ui/language.tsx';

/** Texts of the navigation and the header. */
export const useNavigationMessages = defineMessages({
  chat: ['Chat', 'Chat'],
  start: ['Start', 'Start'],
  overview: ['Overview', 'Übersicht'],
  playground: ['Playground', 'Playground'],
  knowledgeBases: ['Knowledge bases', 'Wissensbasen'],
  files: ['Files', 'Dateien'],
  batches: ['Batches', 'Batches'],
  guardrails: ['Guardrails', 'Richtlinien'],
  mcpServers: ['MCP servers', 'MCP-Server'],
  keys: ['API keys', 'API-Schlüssel'],
  members: ['People', 'Personen'],
  usage: ['Usage', 'Verbrauch'],
  models: ['Models', 'Modelle'],
  cache: ['Prompt cache', 'Prompt-Cache'],
  organizations: ['Organizations', 'Organisationen'],
  audit: ['Audit log', 'Audit-Protokoll'],
  settings: ['Settings', 'Einstellungen'],
  guide: ['Guide', 'Anleitung'],
  reference: ['API reference', 'API-Referenz'],
  build: ['Build', 'Entwickeln'],
  observe: ['Observe', 'Beobachten'],
  manage: ['Manage', 'Verwalten'],
  skip: ['Skip to content', 'Zum Inhalt springen'],
  menu: ['Open the menu', 'Menü öffnen'],
  account: ['Account', 'Konto'],
  signOut: ['Sign out', 'Abmelden'],
  signOutEverywhere: ['Sign out everywhere', 'Überall abmelden'],
  theme: ['Switch between light and dark', 'Zwischen hell und dunkel wechseln'],
  switchOrganization: ['Organization', 'Organisation'],
  configuration: ['Configuration', 'Konfiguration'],
});

/** Texts of the search and its commands. */
export const useCommandMessages = defineMessages({
  open: ['Search and commands', 'Suche und Befehle'],
  placeholder: ['Search pages, knowledge bases, models, keys …', 'Seiten, Wissensbasen, Modelle, Schlüssel suchen …'],
  empty: ['Nothing found.', 'Nichts gefunden.'],
  pages: ['Pages', 'Seiten'],
  create: ['Create', 'Anlegen'],
  newKnowledgeBase: ['New knowledge base', 'Neue Wissensbasis'],
  newBatch: ['New batch', 'Neuer Batch'],
  newPolicy: ['New guardrail policy', 'Neue Richtlinie'],
  newKey: ['New API key', 'Neuer API-Schlüssel'],
  switchTo: ['Switch', 'Wechseln'],
  theme: ['Switch between light and dark', 'Zwischen hell und dunkel wechseln'],
  language: ['Language: {name}', 'Sprache: {name}'],
  organization: ['Organization: {name}', 'Organisation: {name}'],
  help: ['Keyboard shortcuts', 'Tastenkürzel'],
  shortcuts: {
    palette: ['Search and commands', 'Suche und Befehle'],
    help: ['This overview', 'Diese Übersicht'],
    next: ['Next or previous element', 'Nächstes oder voriges Element'],
    choose: ['Choose in lists and menus', 'In Listen und Menüs wählen'],
    activate: ['Activate', 'Auslösen'],
    close: ['Close a dialog or menu', 'Dialog oder Menü schließen'],
  },
});
/** The texts of the navigation in one language. */
export type NavigationMessages = ReturnType<typeof useNavigationMessages>;
