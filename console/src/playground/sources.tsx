import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useOpenPassage, usePlaceText } from '../passages/passage-panel.tsx';
import { useFormat } from '../ui/format.ts';
import { isWebAddress } from '../ui/markdown/parse-inline.ts';
import { Hint } from '../ui/text.tsx';
import type { Citation, RetrievedPassage } from './answer-events.ts';
import { usePlaygroundMessages } from './messages.ts';

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

/** The cited passages with their numbers, and the passages that were retrieved and not cited. */
export function Sources({
  citations,
  context,
}: {
  citations: readonly Citation[];
  context: readonly RetrievedPassage[];
}) {
  const playground = usePlaygroundMessages();
  const placeText = usePlaceText();
  const numbers = numberCitations(citations);
  const cited = [...numbers].map(([key, number]) => ({
    number,
    citation: citations.find((each) => citationKey(each) === key),
  }));
  const others = context.filter(({ chunkId }) => !numbers.has(chunkId));
  if (cited.length === 0 && others.length === 0) return null;
  return (
    <Stack gap={2} mt="sm">
      {cited.length > 0 && (
        <Text size="sm" fw={600}>
          {playground.sources}
        </Text>
      )}
      {cited.map(({ number, citation }) =>
        citation === undefined ? null : (
          <Text size="sm" key={number} className="breakable">
            [{number}] <CitationLink citation={citation}>{citation.title || citation.url}</CitationLink>{' '}
            {citation.passage !== null && <Hint span>{placeText(citation.passage)}</Hint>}
          </Text>
        ),
      )}
      {others.length > 0 && (
        <details>
          <summary>
            {playground.notCited} ({others.length})
          </summary>
          <PassageList passages={others} />
        </details>
      )}
    </Stack>
  );
}

/** Retrieved passages with their scores and, where the API sends it, their text. */
export function PassageList({ passages }: { passages: readonly RetrievedPassage[] }) {
  const format = useFormat();
  const placeText = usePlaceText();
  const openPassage = useOpenPassage();
  return (
    <Stack gap="xs" mt={4}>
      {passages.map(({ text, score, ...passage }) => (
        <div key={passage.chunkId}>
          <Group gap="xs">
            <Anchor
              component="button"
              type="button"
              size="sm"
              className="breakable"
              onClick={() => openPassage(passage)}
            >
              {passage.title}
            </Anchor>
            <Hint>{placeText(passage)}</Hint>
            <Hint>{format.percent(score)}</Hint>
          </Group>
          {text !== null && (
            <Hint lineClamp={3} className="breakable">
              {text}
            </Hint>
          )}
        </div>
      ))}
    </Stack>
  );
}
