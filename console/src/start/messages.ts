import { defineMessages } from '../ui/language.tsx';

/** Texts of the start page. */
export const useStartMessages = defineMessages({
  title: ['Start', 'Start'],
  intro: ['Three steps from your documents to an answer.', 'Drei Schritte von Ihren Dokumenten zu einer Antwort.'],
  step1: ['Create a knowledge base', 'Wissensbasis anlegen'],
  step1Text: [
    'Upload documents. Quire splits, embeds and indexes them.',
    'Laden Sie Dokumente hoch. Quire zerlegt, vektorisiert und indiziert sie.',
  ],
  step2: ['Ask a question', 'Eine Frage stellen'],
  step2Text: [
    'The playground answers from your documents and cites them.',
    'Der Playground antwortet aus Ihren Dokumenten und nennt die Quellen.',
  ],
  step3: ['Use it from your code', 'Aus Ihrem Code nutzen'],
  step3Text: [
    'Create an API key and point any OpenAI client at this service.',
    'Legen Sie einen API-Schlüssel an und richten Sie einen OpenAI-Client auf diesen Dienst.',
  ],
  step3AskText: [
    'Ask an owner for an API key, and point any OpenAI client at this service.',
    'Bitten Sie einen Eigentümer um einen API-Schlüssel und richten Sie einen OpenAI-Client auf diesen Dienst.',
  ],
  step1Done: ['Documents in “{name}”: {documents}.', 'Dokumente in „{name}“: {documents}.'],
  step2Done: ['You have had an answer.', 'Sie haben eine Antwort bekommen.'],
  step3Done: ['An API key has been used.', 'Ein API-Schlüssel wurde benutzt.'],
  done: ['Done', 'Erledigt'],
  openBase: ['Open “{name}”', '„{name}“ öffnen'],
  openKnowledgeBases: ['Open knowledge bases', 'Wissensbasen öffnen'],
  openPlayground: ['Open the playground', 'Playground öffnen'],
  model: ['Get a real model', 'Ein richtiges Modell holen'],
  modelText: [
    'Only the small bundled model answers so far. {model} ({size}, {license}) runs on this machine and answers for every chat model that has no other.',
    'Bisher antwortet nur das kleine mitgelieferte Modell. {model} ({size}, {license}) läuft auf diesem Rechner und antwortet für jedes Chat-Modell, das kein anderes hat.',
  ],
  download: ['Download {model}', '{model} herunterladen'],
  retrievalText: [
    'For better search results, these are downloaded with it. Knowledge bases are embedded again in the background; until then, they are searched by keyword.',
    'Für bessere Suchergebnisse werden diese mit heruntergeladen. Wissensbasen werden im Hintergrund neu eingebettet und bis dahin nach Stichworten durchsucht.',
  ],
  downloadAll: ['Download all {count} ({size})', 'Alle {count} herunterladen ({size})'],
  received: ['{received} of {total}', '{received} von {total}'],
  code: ['In your code', 'In Ihrem Code'],
  language: ['Language of the code', 'Sprache des Codes'],
  keyHint: [
    'Set the variable {variable} to an API key.',
    'Setzen Sie die Variable {variable} auf einen API-Schlüssel.',
  ],
  question: ['Hello! What can you do?', 'Hallo! Was kannst du?'],
  baseQuestion: ['What are these documents about?', 'Worum geht es in diesen Dokumenten?'],
  createKey: ['Create a key', 'Schlüssel anlegen'],
});
