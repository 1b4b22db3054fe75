import { Fragment } from 'react';

/** Shorter words are not marked: they occur everywhere. */
const MIN_CHARACTERS = 3;

/** The words of a query that are worth marking, in lower case. */
export function searchTerms(query: string): string[] {
  return [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu))].filter((term) => term.length >= MIN_CHARACTERS);
}

/** A text in which words that begin with one of the terms are marked. */
export function MarkedText({ text, terms }: { text: string; terms: readonly string[] }) {
  if (terms.length === 0) return text;
  // Terms consist of letters and digits only, so they need no escape.
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}])((?:${terms.join('|')})[\\p{L}\\p{N}]*)`, 'giu'));
  return parts.map((part, index) => {
    const key = `${index} ${part.length}`;
    return index % 2 === 1 ? (
      <mark key={key} className="citation">
        {part}
      </mark>
    ) : (
      <Fragment key={key}>{part}</Fragment>
    );
  });
}
