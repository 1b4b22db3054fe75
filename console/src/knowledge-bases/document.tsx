import { Anchor, Button, Group, Table } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { useFileMessages } from '../files/messages.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page, UnfinishedPage } from '../ui/page.tsx';
import { MoreButton, nextPage } from '../ui/resource-table.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ErrorText, Hint, PageLink } from '../ui/text.tsx';
import { DocumentText } from './document-text.tsx';
import { DocumentActions } from './documents.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';

type Document = Schema<'Document'>;

const route = getRouteApi('/shell/knowledge-bases/$kbId/documents/$documentId');

/** A document: its text with the chunks, and its metadata. `?chunk=ID` highlights a chunk: citations link to it. */
export function DocumentPage() {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const { kbId, documentId } = route.useParams();
  const { chunk: highlighted } = route.useSearch();
  const document = useQuery({
    queryKey: ['document', kbId, documentId],
    queryFn: () => {
      const params = { path: { kb_id: kbId, document_id: documentId } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/documents/{document_id}', { params }));
    },
  });
  const { query: chunksQuery, chunks } = useChunks(kbId, documentId, highlighted);
  if (document.data === undefined || chunksQuery.data === undefined) {
    return <UnfinishedPage title={kb.documents} queries={[document, chunksQuery]} />;
  }
  const { name, status, source_uri: uri, error, expires_at: expiresAt } = document.data;
  return (
    <Page
      title={name}
      parents={
        <>
          <PageLink to="/knowledge-bases">{kb.title}</PageLink> /{' '}
          <PageLink to="/knowledge-bases/$kbId" params={{ kbId }}>
            {kb.documents}
          </PageLink>
        </>
      }
      state={<StatusBadge status={status} />}
      action={<DocumentPageActions kbId={kbId} document={document.data} />}
    >
      <Group>
        {uri !== null && <SourceLink uri={uri} />}
        {expiresAt !== null && <Hint>{fill(kb.expiresAt, { time: format.time(expiresAt) })}</Hint>}
      </Group>
      <ErrorText>{error?.message}</ErrorText>
      <Metadata metadata={document.data.metadata} />
      {chunks.length > 0 && <DocumentText kbId={kbId} chunks={chunks} selected={highlighted} />}
      <MoreButton query={chunksQuery} />
    </Page>
  );
}

/** Reads the chunks of a document a page at a time. Reads on until the highlighted chunk, if any, is loaded. */
function useChunks(kbId: string, documentId: string, highlighted: string | undefined) {
  const query = useInfiniteQuery({
    queryKey: ['chunks', documentId],
    queryFn: ({ pageParam: after }) => {
      const params = { path: { kb_id: kbId, document_id: documentId }, query: { after, limit: 100 } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/documents/{document_id}/chunks', { params }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPage,
  });
  const chunks = query.data?.pages.flatMap((page) => page.data) ?? [];
  const isHighlightLoaded = highlighted === undefined || chunks.some(({ id }) => id === highlighted);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (!isHighlightLoaded && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isHighlightLoaded, hasNextPage, isFetchingNextPage, fetchNextPage]);
  return { query, chunks };
}

/** Download of the uploaded file, processing again, deletion. */
function DocumentPageActions({ kbId, document }: { kbId: string; document: Document }) {
  const files = useFileMessages();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();
  // A line of a JSONL file has `#` and its number after the id.
  const fileId = document.source_uri?.startsWith('file-') ? document.source_uri.split('#')[0] : undefined;
  return (
    <Group gap="xs" wrap="nowrap">
      {document.source_type === 'file_upload' && fileId !== undefined && (
        <Button component="a" href={`/v1/files/${fileId}/content`} download={document.name} variant="default">
          {files.download}
        </Button>
      )}
      {mayWrite && (
        <RowMenu>
          <DocumentActions
            kbId={kbId}
            document={document}
            onDeleted={() => navigate({ to: '/knowledge-bases/$kbId', params: { kbId } })}
          />
        </RowMenu>
      )}
    </Group>
  );
}

function Metadata({ metadata }: { metadata: Document['metadata'] }) {
  const kb = useKnowledgeBaseMessages();
  const fields = Object.entries(metadata);
  if (fields.length === 0) return null;
  return (
    <Table aria-label={kb.metadata} w="fit-content" verticalSpacing={4}>
      <Table.Tbody>
        {fields.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">{name}</Table.Th>
            <Table.Td className="breakable">{typeof value === 'string' ? value : JSON.stringify(value)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
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
    <Hint>{uri}</Hint>
  );
}
