import { Anchor, Button, FileInput, Group, Progress, Select } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { checkUpload } from './check-upload.ts';
import { useFileMessages } from './messages.ts';
import { FILE_PURPOSES } from './search-parameters.ts';
import { type FilePurpose, type UploadedFile, uploadFile } from './upload.ts';
import { uploadLimits } from './upload-limits.ts';
import { useUploadTexts } from './upload-texts.ts';

const route = getRouteApi('/shell/files');

/** Uploaded files, newest first. `?q=` searches their names, `?purpose=` filters them. */
export function FilesPage() {
  const files = useFileMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const { q, purpose } = route.useSearch();
  const [isUploading, setUploading] = useState(false);
  const navigate = route.useNavigate();
  const queryKey = ['files', organization.id, q, purpose];
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['files', organization.id] });
  const show = (change: { q?: string; purpose?: FilePurpose }) =>
    void navigate({ search: withoutEmpty({ q, purpose, ...change }), replace: true });
  return (
    <Page
      title={files.title}
      intro={files.intro}
      action={mayWrite && <Button onClick={() => setUploading(true)}>{files.upload}</Button>}
    >
      <Group>
        <SearchField label={files.search} value={q ?? ''} onSearch={(text) => show({ q: text })} />
        <Select
          aria-label={files.purpose}
          placeholder={files.purpose}
          clearable
          data={FILE_PURPOSES}
          value={purpose ?? null}
          onChange={(value) => show({ purpose: value ?? undefined })}
        />
      </Group>
      <ResourceTable<UploadedFile>
        label={files.title}
        queryKey={queryKey}
        fetchPage={(after) =>
          body(api.GET('/v1/files', { params: { query: { after, limit: 50, order: 'desc', search: q, purpose } } }))
        }
        rowKey={(file) => file.id}
        empty={q === undefined && purpose === undefined ? files.empty : common.noMatches}
        columns={[
          { heading: common.name, cell: (file) => file.filename },
          { heading: files.purpose, cell: (file) => file.purpose },
          { heading: common.status, cell: (file) => <StatusBadge status={file.status} /> },
          { heading: common.size, cell: (file) => format.bytes(file.bytes), isNumber: true },
          { heading: common.created, cell: (file) => format.time(file.created_at) },
          { heading: common.actions, cell: (file) => <FileActions file={file} onDeleted={refresh} /> },
        ]}
      />
      {isUploading && <UploadDialog onClose={() => setUploading(false)} onUploaded={refresh} />}
    </Page>
  );
}

/** Download and deletion of a file. */
function FileActions({ file, onDeleted }: { file: UploadedFile; onDeleted(): Promise<void> }) {
  const files = useFileMessages();
  const common = useCommonMessages();
  const mayWrite = useMayWrite();
  return (
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
            await onDeleted();
          }}
        />
      )}
    </Group>
  );
}

const withoutEmpty = <T extends object>(search: T): Partial<T> =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== '')) as Partial<T>;

function UploadDialog({ onClose, onUploaded }: { onClose(): void; onUploaded(): Promise<void> }) {
  const files = useFileMessages();
  const common = useCommonMessages();
  const texts = useUploadTexts();
  const { data: limits } = useQuery(uploadLimits);
  const [file, setFile] = useState<File | null>(null);
  const [purpose, setPurpose] = useState<FilePurpose>('knowledge-base');
  const [share, setShare] = useState<number | null>(null);
  const controller = useRef(new AbortController());
  // Without the limits, the service rejects the file.
  const defect = file !== null && limits !== undefined ? checkUpload(file, purpose, limits) : null;
  // Leaving the dialog ends the upload.
  useEffect(() => () => controller.current.abort(), []);
  const submit = async () => {
    if (file === null) return;
    controller.current = new AbortController();
    await uploadFile(file, purpose, { onProgress: setShare, signal: controller.current.signal });
    await onUploaded();
  };
  return (
    <FormDialog
      title={files.upload}
      submitLabel={files.upload}
      isValid={file !== null && defect === null}
      onClose={onClose}
      submit={submit}
    >
      <FileInput
        label={files.file}
        description={limits && texts.limits(limits, purpose)}
        placeholder={common.choose}
        required
        data-autofocus
        accept={limits?.extensions[purpose]?.join(',')}
        value={file}
        onChange={setFile}
        error={defect && texts.defect(defect)}
      />
      <Select
        label={files.purpose}
        description={files.purposeHint}
        allowDeselect={false}
        data={FILE_PURPOSES}
        value={purpose}
        onChange={(value) => value !== null && setPurpose(value)}
      />
      {share !== null && <Progress aria-label={files.upload} value={share * 100} />}
    </FormDialog>
  );
}
