import { Anchor, Drawer, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useFormat } from '../ui/format.ts';
import { isWebAddress } from '../ui/markdown/parse-inline.ts';
import { QueryData } from '../ui/states.tsx';
import { Hint, PageLink } from '../ui/text.tsx';
import type { Citation, Passage } from './answer-events.ts';
import { usePlaygroundMessages } from './messages.ts';

/** A passage of a document that can be opened. */
export interface PassagePlace {
  title: string;
  kbId: string;
  documentId: string;
  chunkId: string;
}

/** Pages of chunks that are read to find a passage, and chunks per page. */
const MAX_PAGES = 50;
const PAGE_CHUNKS = 100;

const OpenPassage = createContext<(place: PassagePlace) => void>(() => {});

/** Opens the passage beside the conversation. */
export const useOpenPassage = () => useContext(OpenPassage);

/** Shows passages in a panel beside its children. */
export function PassagePanel({ children }: { children: ReactNode }) {
  const playground = usePlaygroundMessages();
  const [place, setPlace] = useState<PassagePlace | null>(null);
  return (
    <OpenPassage value={setPlace}>
      {children}
      <Drawer
        opened={place !== null}
        onClose={() => setPlace(null)}
        position="right"
        size="lg"
        title={place?.title ?? playground.passage}
      >
        {place !== null && <PassageText place={place} />}
      </Drawer>
    </OpenPassage>
  );
}

function PassageText({ place }: { place: PassagePlace }) {
  const playground = usePlaygroundMessages();
  const passage = useQuery({ queryKey: ['passage', place.chunkId], queryFn: () => findPassage(place) });
  const { kbId, documentId, chunkId } = place;
  return (
    <Stack>
      <PageLink
        to="/knowledge-bases/$kbId/documents/$documentId"
        params={{ kbId, documentId }}
        search={{ chunk: chunkId }}
        target="_blank"
        rel="noopener"
        size="sm"
      >
        {playground.openDocument}
      </PageLink>
      <QueryData query={passage}>
        {(chunk) =>
          chunk === null ? (
            <Text>{playground.passageGone}</Text>
          ) : (
            <>
              <Hint>{chunk.heading_path.join(' › ')}</Hint>
              <mark className="citation passage">{chunk.text}</mark>
            </>
          )
        }
      </QueryData>
    </Stack>
  );
}

/** The API lists chunks by document; null when the document no longer has the chunk. */
async function findPassage({ kbId, documentId, chunkId }: PassagePlace) {
  const path = { kb_id: kbId, document_id: documentId };
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = { path, query: { after, limit: PAGE_CHUNKS } };
    const list = await body(api.GET('/v1/knowledge-bases/{kb_id}/documents/{document_id}/chunks', { params }));
    const chunk = list.data.find(({ id }) => id === chunkId);
    if (chunk !== undefined) return chunk;
    if (!list.has_more || list.last_id === null) return null;
    after = list.last_id;
  }
  return null;
}

/** The number of each cited passage, in the order of the first citation. */
export function numberCitations(citations: readonly Citation[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const citation of citations) {
    const key = citationKey(citation);
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
  }
  return numbers;
}

/** Key of the cited passage. Citations of the same passage have the same key. */
export const citationKey = ({ chunkId, url, title }: Citation): string => chunkId ?? url ?? title;

/** A button that opens the passage of a citation, or a link to its page. */
export function CitationLink({ citation, children }: { citation: Citation; children: ReactNode }) {
  const openPassage = useOpenPassage();
  const { title, kbId, documentId, chunkId, url } = citation;
  if (kbId !== null && documentId !== null && chunkId !== null) {
    return (
      <Anchor component="button" type="button" onClick={() => openPassage({ title, kbId, documentId, chunkId })}>
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
export function Sources({ citations, context }: { citations: readonly Citation[]; context: readonly Passage[] }) {
  const playground = usePlaygroundMessages();
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
            [{number}] <CitationLink citation={citation}>{citation.title || citation.url}</CitationLink>
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
export function PassageList({ passages }: { passages: readonly Passage[] }) {
  const format = useFormat();
  const openPassage = useOpenPassage();
  return (
    <Stack gap="xs" mt={4}>
      {passages.map(({ documentName, text, score, ...place }) => (
        <div key={place.chunkId}>
          <Group gap="xs">
            <Anchor
              component="button"
              type="button"
              size="sm"
              className="breakable"
              onClick={() => openPassage({ title: documentName, ...place })}
            >
              {documentName}
            </Anchor>
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
