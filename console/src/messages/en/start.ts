export const start = {
  title: 'Start',
  intro: 'Three steps from your documents to an answer.',
  step1: 'Create a knowledge base',
  step1Text: 'Upload documents. Quire splits, embeds and indexes them.',
  step2: 'Ask a question',
  step2Text: 'The playground answers from your documents and cites them.',
  step3: 'Use it from your code',
  step3Text: 'Create an API key and point any OpenAI client at this service.',
  openKnowledgeBases: 'Open knowledge bases',
  openPlayground: 'Open the playground',
  code: 'In your code',
  createKey: 'Create a key',
};
