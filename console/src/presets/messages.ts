import { defineMessages } from '../ui/language.tsx';

/** Texts of the presets of chats. */
export const usePresetMessages = defineMessages({
  title: ['Chat presets', 'Chat-Vorlagen'],
  intro: [
    'Chat configurations for your organization: model, instructions, knowledge bases and tools. Members can choose published presets in the chat, in this order.',
    'Chat-Konfigurationen für Ihre Organisation: Modell, Anweisungen, Wissensbasen und Werkzeuge. Mitglieder können veröffentlichte Vorlagen im Chat in dieser Reihenfolge wählen.',
  ],
  create: ['Create preset', 'Vorlage anlegen'],
  edit: ['Change preset', 'Vorlage ändern'],
  editAction: ['Edit', 'Bearbeiten'],
  empty: [
    'Presets for the chats of your organization appear here.',
    'Hier erscheinen Vorlagen für die Chats Ihrer Organisation.',
  ],
  description: ['Description', 'Beschreibung'],
  descriptionHint: ['Shown to members in a new chat.', 'Wird Mitgliedern in einem neuen Chat angezeigt.'],
  model: ['Model', 'Modell'],
  anyModel: ['The member chooses', 'Das Mitglied wählt'],
  instructions: ['Instructions', 'Anweisungen'],
  instructionsHint: [
    'System message. Members cannot see it, but a model may repeat it.',
    'Systemnachricht. Mitglieder sehen sie nicht, aber ein Modell kann sie wiederholen.',
  ],
  knowledge: ['Knowledge bases', 'Wissensbasen'],
  knowledgeHint: [
    'Initial knowledge bases of a chat. Members can change them.',
    'Anfängliche Wissensbasen eines Chats. Mitglieder können sie ändern.',
  ],
  servers: ['MCP servers', 'MCP-Server'],
  serversHint: ['Tools are called without approval.', 'Werkzeuge werden ohne Rückfrage aufgerufen.'],
  parameters: ['Parameters', 'Parameter'],
  temperature: ['Temperature', 'Temperatur'],
  topP: ['Top p', 'Top p'],
  maxTokens: ['Maximum tokens per answer', 'Maximale Tokens je Antwort'],
  effort: ['Reasoning effort', 'Aufwand des Überlegens'],
  modelDefault: ['Default of the model', 'Standard des Modells'],
  published: ['Published', 'Veröffentlicht'],
  publishedHint: ['Members can choose it.', 'Mitglieder können sie wählen.'],
  default: ['Default', 'Standard'],
  isDefault: ['Default for new chats', 'Standard für neue Chats'],
  makeDefault: ['Make it the default', 'Zum Standard machen'],
  clearDefault: ['Remove as default', 'Nicht mehr als Standard verwenden'],
  up: ['Move up', 'Nach oben'],
  down: ['Move down', 'Nach unten'],
  deleteText: [
    'Chats with this preset continue without it. To keep it in these chats, unpublish it instead.',
    'Chats mit dieser Vorlage laufen ohne sie weiter. Damit sie dort bleibt, heben Sie nur die Veröffentlichung auf.',
  ],
});
