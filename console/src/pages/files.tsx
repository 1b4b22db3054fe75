import { Anchor, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import type { UploadedFile } from '../api/upload.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { SearchField } from '../components/search-field.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { useMessages } from '../messages/index.tsx';

const route = getRouteApi('/shell/files');

/** Uploaded files, newest first. `?q=` searches their names. */
export function FilesPage() {
  const { files, kb, common } = useMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const queryKey = ['files', organization.id, q];
  return (
    <Page title={files.title} intro={files.intro}>
      <SearchField
        label={files.search}
        value={q ?? ''}
        onSearch={(text) => void navigate({ search: text === '' ? {} : { q: text }, replace: true })}
      />
      <ResourceTable<UploadedFile>
        label={files.title}
        queryKey={queryKey}
        fetchPage={(after) =>
          body(api.GET('/v1/files', { params: { query: { after, limit: 50, order: 'desc', search: q } } }))
        }
        rowKey={(file) => file.id}
        empty={q === undefined ? files.empty : kb.noMatches}
        columns={[
          { heading: common.name, cell: (file) => file.filename },
          { heading: files.purpose, cell: (file) => file.purpose },
          { heading: common.status, cell: (file) => <StatusBadge status={file.status} /> },
          { heading: common.size, cell: (file) => format.bytes(file.bytes), isNumber: true },
          { heading: common.created, cell: (file) => format.time(file.created_at) },
          {
            heading: common.actions,
            cell: (file) => (
              <Group gap={4} wrap="nowrap">
                <Anchor href={`/v1/files/${file.id}/content`} download={file.filename} size="sm">
                  {files.download}
                </Anchor>
                {mayWrite && (
                  <ConfirmButton
                    label={common.delete}
                    title={`${common.delete}: ${file.filename}`}
                    text={files.deleteText}
                    action={async () => {
                      await api.DELETE('/v1/files/{file_id}', { params: { path: { file_id: file.id } } });
                      await queryClient.invalidateQueries({ queryKey });
                    }}
                  />
                )}
              </Group>
            ),
          },
        ]}
      />
    </Page>
  );
}
