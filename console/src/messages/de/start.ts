import type { Messages } from '../en/index.ts';

export const start: Messages['start'] = {
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
};
