import { Anchor, Breadcrumbs, Button, Card, Center, Group, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { api, body } from '../api/client.ts';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ErrorState, LoadingState } from '../components/states.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { useMessages } from '../messages/index.tsx';

const route = getRouteApi('/shell/knowledge-bases/$kbId/documents/$documentId');

/** A document with its chunks. `?chunk=ID` highlights a chunk: citations link to it. */
export function DocumentPage() {
  const { kb, common } = useMessages();
  const { kbId, documentId } = route.useParams();
  const { chunk: highlighted } = route.useSearch();
  const path = { kb_id: kbId, document_id: documentId };
  const document = useQuery({
    queryKey: ['document', documentId],
    queryFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}/documents/{document_id}', { params: { path } })),
  });
  const chunks = useInfiniteQuery({
    queryKey: ['chunks', documentId],
    queryFn: ({ pageParam }) =>
      body(
        api.GET('/v1/knowledge-bases/{kb_id}/documents/{document_id}/chunks', {
          params: { path, query: { after: pageParam, limit: 100 } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.has_more ? (page.last_id ?? undefined) : undefined),
  });
  const items = chunks.data?.pages.flatMap((page) => page.data) ?? [];
  const isHighlightLoaded = highlighted === undefined || items.some(({ id }) => id === highlighted);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = chunks;
  useEffect(() => {
    if (!isHighlightLoaded && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isHighlightLoaded, hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (document.isPending || chunks.isPending) return <LoadingState />;
  if (document.isError) return <ErrorState error={document.error} onRetry={() => void document.refetch()} />;
  if (chunks.isError) return <ErrorState error={chunks.error} onRetry={() => void chunks.refetch()} />;
  const { name, status, source_uri: uri, error } = document.data;
  return (
    <Page title={name}>
      <Breadcrumbs>
        <Anchor component={Link} to="/knowledge-bases">
          {kb.title}
        </Anchor>
        <Anchor component={Link} to="/knowledge-bases/$kbId" params={{ kbId } as never}>
          {kb.documents}
        </Anchor>
      </Breadcrumbs>
      <Group>
        <StatusBadge status={status} />
        {uri !== null && <SourceLink uri={uri} />}
      </Group>
      {error !== null && <Text c="red">{error.message}</Text>}
      <Stack>
        {items.map((chunk, index) => (
          <ChunkCard key={chunk.id} number={index + 1} chunk={chunk} isHighlighted={chunk.id === highlighted} />
        ))}
      </Stack>
      {hasNextPage && (
        <Center>
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {common.more}
          </Button>
        </Center>
      )}
    </Page>
  );
}

/** Only web addresses become links: a source may have any text. */
function SourceLink({ uri }: { uri: string }) {
  const isWeb = /^https?:\/\//.test(uri);
  return isWeb ? (
    <Anchor href={uri} target="_blank" rel="noreferrer" size="sm">
      {uri}
    </Anchor>
  ) : (
    <Text size="sm" c="dimmed">
      {uri}
    </Text>
  );
}

interface Chunk {
  text: string;
  tokens: number;
  page: number | null;
  heading_path: string[];
}

function ChunkCard({ number, chunk, isHighlighted }: { number: number; chunk: Chunk; isHighlighted: boolean }) {
  const { kb } = useMessages();
  const format = useFormat();
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isHighlighted) card.current?.scrollIntoView({ block: 'center' });
  }, [isHighlighted]);
  return (
    <Card
      withBorder
      ref={card}
      className={isHighlighted ? 'citation' : undefined}
      aria-current={isHighlighted || undefined}
    >
      <Group justify="space-between" mb="xs">
        <Text size="sm" fw={600}>
          {[`#${number}`, ...chunk.heading_path].join(' › ')}
        </Text>
        <Text size="sm" c="dimmed">
          {chunk.page !== null && `${kb.page} ${chunk.page} · `}
          {format.number(chunk.tokens)} {kb.tokens}
        </Text>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {chunk.text}
      </Text>
    </Card>
  );
}
