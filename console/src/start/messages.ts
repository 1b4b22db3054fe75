import { defineMessages } from '../ui/language.tsx';

/** Texts of the start page. */
export const useStartMessages = defineMessages({
  en: {
    title: 'Start',
    intro: 'Three steps from your documents to an answer.',
    step1: 'Create a knowledge base',
    step1Text: 'Upload documents. Quire splits, embeds and indexes them.',
    step2: 'Ask a question',
    step2Text: 'The playground answers from your documents and cites them.',
    step3: 'Use it from your code',
    step3Text: 'Create an API key and point any OpenAI client at this service.',
    step3AskText: 'Ask an owner or an administrator for an API key, and point any OpenAI client at this service.',
    openKnowledgeBases: 'Open knowledge bases',
    openPlayground: 'Open the playground',
    model: 'Get a real model',
    modelText:
      'Only the small bundled model answers so far. {model} ({size}, {license}) runs on this machine and answers for every chat model that has no other.',
    download: 'Download {model}',
    received: '{received} of {total}',
    code: 'In your code',
    createKey: 'Create a key',
  },
  de: {
    title: 'Start',
    intro: 'Drei Schritte von Ihren Dokumenten zu einer Antwort.',
    step1: 'Wissensbasis anlegen',
    step1Text: 'Laden Sie Dokumente hoch. Quire zerlegt, vektorisiert und indiziert sie.',
    step2: 'Eine Frage stellen',
    step2Text: 'Der Playground antwortet aus Ihren Dokumenten und nennt die Quellen.',
    step3: 'Aus Ihrem Code nutzen',
    step3Text: 'Legen Sie einen API-Schlüssel an und richten Sie einen OpenAI-Client auf diesen Dienst.',
    step3AskText:
      'Bitten Sie einen Inhaber oder Administrator um einen API-Schlüssel und richten Sie einen OpenAI-Client auf diesen Dienst.',
    openKnowledgeBases: 'Wissensbasen öffnen',
    openPlayground: 'Playground öffnen',
    model: 'Ein richtiges Modell holen',
    modelText:
      'Bisher antwortet nur das kleine mitgelieferte Modell. {model} ({size}, {license}) läuft auf diesem Rechner und antwortet für jedes Chat-Modell, das kein anderes hat.',
    download: '{model} herunterladen',
    received: '{received} von {total}',
    code: 'In Ihrem Code',
    createKey: 'Schlüssel anlegen',
  },
});
