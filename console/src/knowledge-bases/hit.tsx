import { Anchor, Badge, Card, Group, Progress, SimpleGrid, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { paths } from '../api/schema.d.ts';
import { MarkedText } from '../ui/marked-text.tsx';
import { useKnowledgeBaseMessages, useRetrievalMessages } from './messages.ts';

type Retrieved =
  paths['/v1/knowledge-bases/{kb_id}/retrieve']['post']['responses'][200]['content']['application/json']['results'][number];

/** A search result with its knowledge base. */
export type Hit = Retrieved & { kbId: string };

/** A found chunk: text with marked terms, score and its components, link to the chunk in its document. */
export function HitCard({ hit, rank, terms }: { hit: Hit; rank: number; terms: readonly string[] }) {
  const retrieval = useRetrievalMessages();
  const kb = useKnowledgeBaseMessages();
  const heading = (hit.metadata?.['heading_path'] as string[] | undefined) ?? [];
  const page = hit.metadata?.['page'];
  return (
    <Card withBorder component="li">
      <Group justify="space-between" mb="xs" wrap="nowrap" align="flex-start">
        <div style={{ minWidth: 0 }}>
          <Anchor
            component={Link}
            to="/knowledge-bases/$kbId/documents/$documentId"
            params={{ kbId: hit.kbId, documentId: hit.document_id } as never}
            search={{ chunk: hit.chunk_id } as never}
            style={{ overflowWrap: 'anywhere' }}
          >
            {rank}. {hit.document_name}
          </Anchor>
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {[...heading, ...(typeof page === 'number' ? [`${kb.page} ${page}`] : [])].join(' › ')}
          </Text>
        </div>
        <Badge variant="light" tt="none" miw="max-content">
          {retrieval.score} {hit.score.toFixed(3)}
        </Badge>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        <MarkedText text={hit.text} terms={terms} />
      </Text>
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

function Component({ label, value }: { label: string; value: number | null }) {
  return (
    <div>
      <Group justify="space-between" gap={4}>
        <Text size="xs" c="dimmed">
          {label}
        </Text>
        <Text size="xs">{value === null ? '–' : value.toFixed(3)}</Text>
      </Group>
      <Progress size="sm" value={(value ?? 0) * 100} aria-label={label} />
    </div>
  );
}
