import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { useOpenPassage } from '../passages/open-passage.ts';
import { isWebAddress } from '../ui/markdown/parse-inline.ts';
import type { Citation } from './answer-events.ts';

/** The number of each cited passage, in the order of the first citation. */
export function numberCitations(citations: readonly Citation[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const citation of citations) {
    const key = citationKey(citation);
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
  }
  return numbers;
}

/** Key of the cited chunk. Citations of the same chunk have the same key. */
export const citationKey = ({ passage, url, title }: Citation): string => passage?.chunkId ?? url ?? title;

/** A button that opens the passage of a citation, or a link to its page. */
export function CitationLink({ citation, children }: { citation: Citation; children: ReactNode }) {
  const openPassage = useOpenPassage();
  const { passage, url } = citation;
  if (passage !== null) {
    return (
      <Anchor component="button" type="button" onClick={() => openPassage(passage)}>
        {children}
      </Anchor>
    );
  }
  if (url === null || !isWebAddress(url)) return children;
  return (
    <Anchor href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </Anchor>
  );
}
