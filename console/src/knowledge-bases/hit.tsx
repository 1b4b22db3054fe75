import { Button, Card, Group, Progress, SimpleGrid, Text } from '@mantine/core';
import type { Schema } from '../api/types.ts';
import { usePassageMessages } from '../passages/messages.ts';
import { useOpenPassage } from '../passages/open-passage.ts';
import type { Passage } from '../passages/passage.ts';
import { usePlaceText } from '../passages/passage-view.tsx';
import { useFormat } from '../ui/format.ts';
import { MarkedText } from '../ui/marked-text.tsx';
import { Hint, PageLink, Tag } from '../ui/text.tsx';
import { useRetrievalMessages } from './messages.ts';

/** A search result with its knowledge base. */
export type Hit = Schema<'RetrievedChunk'> & { kbId: string };

/** A found chunk: text with marked terms, score and its components, link to the chunk in its document. */
export function HitCard({ hit, rank, terms }: { hit: Hit; rank: number; terms: readonly string[] }) {
  const retrieval = useRetrievalMessages();
  const format = useFormat();
  const messages = usePassageMessages();
  const placeText = usePlaceText();
  const openPassage = useOpenPassage();
  const passage = toPassage(hit);
  return (
    <Card withBorder component="li">
      <Group justify="space-between" mb="xs" wrap="nowrap" align="flex-start">
        <div style={{ minWidth: 0 }}>
          <PageLink
            to="/knowledge-bases/$kbId/documents/$documentId"
            params={{ kbId: hit.kbId, documentId: hit.document_id }}
            search={{ chunk: hit.chunk_id }}
            className="breakable"
          >
            {rank}. {hit.document_name}
          </PageLink>
          <Hint className="breakable">{placeText(passage)}</Hint>
        </div>
        <Tag>
          {retrieval.score} {format.number(hit.score)}
        </Tag>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        <MarkedText text={hit.text} terms={terms} />
      </Text>
      <Button size="compact-sm" variant="default" mt="xs" onClick={() => openPassage(passage)}>
        {messages.show}
      </Button>
      {hit.scores !== undefined && (
        <SimpleGrid cols={{ base: 2, sm: 4 }} mt="sm">
          <Component label={retrieval.vector} value={hit.scores.vector} />
          <Component label={retrieval.keyword} value={hit.scores.keyword} />
          <Component label={retrieval.fused} value={hit.scores.fused} />
          <Component label={retrieval.reranker} value={hit.scores.rerank} />
        </SimpleGrid>
      )}
    </Card>
  );
}

/** Reads the place of a chunk from its metadata. */
function toPassage({
  kbId,
  document_id: documentId,
  chunk_id: chunkId,
  document_name: title,
  metadata = {},
}: Hit): Passage {
  const number = (value: unknown) => (typeof value === 'number' ? value : null);
  const cells = metadata['cells'];
  return {
    ...{ title, kbId, documentId, chunkId, url: null },
    page: number(metadata['page']),
    slide: number(metadata['slide']),
    cells: typeof cells === 'string' ? cells : null,
    headingPath: (metadata['heading_path'] as string[] | undefined) ?? [],
    start: number(metadata['start_index']) ?? 0,
    end: number(metadata['end_index']) ?? 0,
  };
}

function Component({ label, value }: { label: string; value: number | null }) {
  const format = useFormat();
  return (
    <div>
      <Group justify="space-between" gap={4}>
        <Hint size="xs">{label}</Hint>
        <Text size="xs">{value === null ? '–' : format.number(value)}</Text>
      </Group>
      <Progress size="sm" value={(value ?? 0) * 100} aria-label={label} />
    </div>
  );
}
