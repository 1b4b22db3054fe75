import { readFileSync } from 'node:fs';
import type { TemplateOverride } from '../../llama/prompt/chat-template.ts';

/** Title of the document that the model is to answer with: the template writes its marker. */
export const ANSWER_TITLE = 'answer';

/**
 * Chat template of the bundled model. That of the GGUF file, with the documents that the model was trained on at the end
 * of the first system turn, each behind its marker.
 */
export const CHAT_TEMPLATE: TemplateOverride = {
  source: readFileSync(new URL('./chat-template.jinja', import.meta.url), 'utf8'),
  markers: ['<|doc|>', '<|mark|>'],
};
