import type { SelectedSection } from './select-sections.ts';

/** The reply when no passage answers. The model was trained on it. */
export const NO_ANSWER_TEXT = 'I could not find that in the documents.';

/** Sections as an answer: whole, each below its heading; two of one heading below a single one. */
export function quoteSections(sections: readonly SelectedSection[]): string {
  return sections
    .map(({ heading, isHeaded, text, source }, i) => {
      const isRepeated = sections[i - 1]?.source === source;
      return isHeaded && !isRepeated ? `**${heading.replaceAll('**', '')}**\n\n${text}` : text;
    })
    .join('\n\n');
}

/**
 * The reply when no passage answers, with the closest section and its source. The section is a block quote, which
 * grounding does not cite below a reply that declines.
 */
export function declineWith(section: SelectedSection): string {
  const lines = section.text.split('\n').map((line) => `> ${line}`.trimEnd());
  return `${NO_ANSWER_TEXT} The closest passage is from ${section.source || 'a document'}:\n\n${lines.join('\n')}`;
}
