import { Anchor, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import type { UploadedFile } from '../api/upload.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { useMessages } from '../messages/index.tsx';

/** Uploaded files. */
export function FilesPage() {
  const { files, common } = useMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const queryKey = ['files', organization.id];
  return (
    <Page title={files.title} intro={files.intro}>
      <ResourceTable<UploadedFile>
        label={files.title}
        queryKey={queryKey}
        fetchPage={(after) => body(api.GET('/v1/files', { params: { query: { after, limit: 50, order: 'desc' } } }))}
        rowKey={(file) => file.id}
        empty={files.empty}
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
