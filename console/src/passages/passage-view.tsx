import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { api, body } from '../api/client.ts';
import { isWebAddress } from '../ui/markdown/parse-inline.ts';
import { QueryData } from '../ui/states.tsx';
import { Hint, PageLink } from '../ui/text.tsx';
import { usePassageMessages } from './messages.ts';
import { PageImage } from './page-image.tsx';
import { type Passage, splitAtPassage } from './passage.ts';

/** Characters of the text around the passage, before and after, at least. */
const CONTEXT_CHARACTERS = 400;
/** Chunks that are shown at most. */
const MAX_CHUNKS = 20;

/** The place of a passage in its document, such as `Page 14 › Sirens`. */
export function usePlaceText() {
  const messages = usePassageMessages();
  return ({ page, slide, cells, headingPath }: Pick<Passage, 'page' | 'slide' | 'cells' | 'headingPath'>): string =>
    [
      ...(slide !== null ? [`${messages.slide} ${slide}`] : page !== null ? [`${messages.page} ${page}`] : []),
      ...headingPath,
      ...(cells === null ? [] : [cells]),
    ].join(' › ');
}

/** The page and the text of a passage, with links to its document. */
export function PassageView({ passage }: { passage: Passage }) {
  const messages = usePassageMessages();
  const placeText = usePlaceText();
  const { kbId, documentId, chunkId, page, slide, url } = passage;
  return (
    <Stack>
      <div>
        <Hint className="breakable">{placeText(passage)}</Hint>
        <Group gap="md">
          <PageLink
            to="/knowledge-bases/$kbId/documents/$documentId"
            params={{ kbId, documentId }}
            search={{ chunk: chunkId }}
            target="_blank"
            rel="noopener"
            size="sm"
          >
            {messages.openDocument}
          </PageLink>
          {url !== null && isWebAddress(url) && (
            <Anchor href={url} target="_blank" rel="noopener noreferrer" size="sm">
              {messages.openSource}
            </Anchor>
          )}
        </Group>
      </div>
      {page !== null && slide === null && <PageImage passage={passage} firstPage={page} />}
      <PassageText passage={passage} />
    </Stack>
  );
}

function PassageText({ passage }: { passage: Passage }) {
  const messages = usePassageMessages();
  const text = useQuery({
    queryKey: ['passage', passage.documentId, passage.start, passage.end],
    queryFn: () => loadText(passage),
  });
  const mark = useRef<HTMLElement>(null);
  const isLong = passage.page === null || passage.slide !== null;
  useEffect(() => {
    if (isLong && text.data !== undefined) mark.current?.scrollIntoView({ block: 'center' });
  }, [isLong, text.data]);
  return (
    <QueryData query={text}>
      {(parts) => {
        const first = parts.findIndex(({ isPassage }) => isPassage);
        return parts.length === 0 ? (
          <Text>{messages.gone}</Text>
        ) : (
          <Text component="section" size="sm" className="plain-text" aria-label={messages.text}>
            {parts.map(({ text: part, isPassage }, index) =>
              isPassage ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a passage do not change.
                <mark key={index} ref={index === first ? mark : undefined} className="citation passage">
                  {part}
                </mark>
              ) : (
                part
              ),
            )}
          </Text>
        );
      }}
    </QueryData>
  );
}

/** The passage with the chunks around it. */
async function loadText(passage: Passage) {
  const { kbId, documentId, start, end } = passage;
  const params = {
    path: { kb_id: kbId, document_id: documentId },
    query: { start: Math.max(0, start - CONTEXT_CHARACTERS), end: end + CONTEXT_CHARACTERS, limit: MAX_CHUNKS },
  };
  const chunks = await body(api.GET('/v1/knowledge-bases/{kb_id}/documents/{document_id}/chunks', { params }));
  return splitAtPassage(chunks.data, passage);
}
