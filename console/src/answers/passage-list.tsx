import { Anchor, Group, Stack } from '@mantine/core';
import { useOpenPassage } from '../passages/open-passage.ts';
import { usePlaceText } from '../passages/passage-view.tsx';
import { useFormat } from '../ui/format.ts';
import { Hint } from '../ui/text.tsx';
import type { RetrievedPassage } from './answer-events.ts';

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
