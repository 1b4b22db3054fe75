import type { Messages } from '../en/index.ts';

export const playground: Messages['playground'] = {
  title: 'Playground',
  model: 'Modell',
  system: 'Systemprompt',
  knowledge: 'Wissensbasen',
  temperature: 'Temperatur',
  maxTokens: 'Höchstzahl Tokens',
  defaultHint: 'Leer: Vorgabe des Modells.',
  placeholder: 'Stellen Sie eine Frage',
  send: 'Senden',
  stop: 'Anhalten',
  clear: 'Neuer Chat',
  retry: 'Wiederholen',
  empty: 'Stellen Sie eine Frage. Mit einer Wissensbasis erhalten Sie Antworten mit Quellen.',
  you: 'Sie',
  assistant: 'Assistent',
  sources: 'Quellen',
  reasoning: 'Überlegung',
  code: 'Code',
  stats:
    '{prompt} Prompt-Tokens ({cached} aus dem Cache) + {completion} Antwort-Tokens, erstes Token nach {first} ms, {total} s',
  stopped: 'angehalten',
  parameters: 'Parameter',
  passage: 'Stelle',
};
