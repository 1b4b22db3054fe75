import { fileURLToPath } from 'node:url';

const modelFile = (name: string): string => fileURLToPath(new URL(`../models/${name}`, import.meta.url));

const EMBEDDING_FILE = modelFile('quire-embed-1.bin');

/** Names and weights of the bundled models. Each has a model card beside its file. */
export const BUNDLED_MODELS = {
  chat: { name: 'quire-chat-2', file: modelFile('quire-chat-2.gguf') },
  embedding: { name: 'quire-embed-1', file: EMBEDDING_FILE },
  moderation: { name: 'quire-moderation-1', file: modelFile('quire-moderation-1.bin') },
  /** `embedderFile`: the embedding model that it was trained on. */
  rerank: { name: 'quire-rerank-2', file: modelFile('quire-rerank-2.bin'), embedderFile: EMBEDDING_FILE },
} as const;

/** Facts of the bundled chat model, known before it is loaded. */
export const BUNDLED_CHAT_FACTS = {
  contextTokens: 4_096,
  parameters: 6_163_712,
  sampleTokens: [5, 8, 11, 14],
};
