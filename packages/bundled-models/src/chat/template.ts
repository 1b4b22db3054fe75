import { readFileSync } from 'node:fs';

/** Title of the document that contains the answer. The template marks it. */
export const ANSWER_TITLE = 'answer';

/**
 * Chat template of the bundled model: that of the GGUF file, with documents at the end of the first system turn, each
 * behind its marker, as in training.
 */
export const CHAT_TEMPLATE = {
  source: readFileSync(new URL('./chat-template.jinja', import.meta.url), 'utf8'),
  markers: ['<|doc|>', '<|mark|>'],
};
