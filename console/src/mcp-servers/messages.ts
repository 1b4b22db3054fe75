import { defineMessages } from '../ui/language.tsx';

/** Texts of registered MCP servers. */
export const useMcpServerMessages = defineMessages({
  title: ['MCP servers', 'MCP-Server'],
  intro: [
    'Servers of the Model Context Protocol whose tools models may call in responses. Requests name them by their label.',
    'Server des Model Context Protocol, deren Werkzeuge Modelle in Responses aufrufen dürfen. Anfragen nennen das Label.',
  ],
  create: ['Register server', 'Server eintragen'],
  edit: ['Change server', 'Server ändern'],
  editAction: ['Edit', 'Bearbeiten'],
  empty: ['No MCP server is registered.', 'Kein MCP-Server ist eingetragen.'],
  label: ['Label', 'Label'],
  labelHint: [
    'Letters, digits, "_" and "-", beginning with a letter.',
    'Buchstaben, Ziffern, „_“ und „-“; zuerst ein Buchstabe.',
  ],
  url: ['Address', 'Adresse'],
  description: ['Description for models', 'Beschreibung für Modelle'],
  token: ['Access token', 'Zugriffstoken'],
  tokenHint: [
    'Stored encrypted and never shown. Replaces all stored headers.',
    'Wird verschlüsselt gespeichert und nie angezeigt. Ersetzt alle gespeicherten Header.',
  ],
  tokenKept: ['Empty: the stored one stays.', 'Leer: Der gespeicherte bleibt.'],
  headers: ['Stored headers', 'Gespeicherte Header'],
  tools: ['Allowed tools', 'Erlaubte Werkzeuge'],
  toolsHint: ['Names. Empty: all tools.', 'Namen. Leer: alle Werkzeuge.'],
  allTools: ['all', 'alle'],
  filtered: ['by filter', 'nach Filter'],
  approval: ['Approval of calls', 'Freigabe von Aufrufen'],
  approvalHint: ['Requests may have their own rule.', 'Anfragen können eine eigene Regel haben.'],
  approvals: {
    always: ['Each call needs one', 'Jeder Aufruf braucht eine'],
    never: ['No call needs one', 'Kein Aufruf braucht eine'],
  },
  deleteText: [
    'Requests that name the server fail from now on. Its stored credentials are deleted.',
    'Anfragen, die den Server nennen, schlagen ab jetzt fehl. Seine gespeicherten Zugangsdaten werden gelöscht.',
  ],
});
