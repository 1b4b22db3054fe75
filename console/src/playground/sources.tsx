import { Stack, Text } from '@mantine/core';
import type { Citation, RetrievedPassage } from '../answers/answer-events.ts';
import { CitationLink, citationKey, numberCitations } from '../answers/citations.tsx';
import { PassageList } from '../answers/passage-list.tsx';
import { usePlaceText } from '../passages/passage-view.tsx';
import { Hint } from '../ui/text.tsx';
import { usePlaygroundMessages } from './messages.ts';

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
