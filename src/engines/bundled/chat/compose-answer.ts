import type { SelectedSection } from './select-section.ts';

/** The reply when no passage answers. The model was trained on it. */
export const NO_ANSWER_TEXT = 'I could not find that in the documents.';

/** A section as an answer: whole, below its heading. */
export function quoteSection({ heading, isHeaded, text }: SelectedSection): string {
  return isHeaded ? `**${heading.replaceAll('**', '')}**\n\n${text}` : text;
}

/**
 * The reply when no passage answers, with the closest section and its source. The section is a block quote, which grounding does
 * not cite below a reply that declines.
 */
export function declineWith(section: SelectedSection): string {
  const lines = section.text.split('\n').map((line) => `> ${line}`.trimEnd());
  return `${NO_ANSWER_TEXT} The closest passage is from ${section.source || 'a document'}:\n\n${lines.join('\n')}`;
}
