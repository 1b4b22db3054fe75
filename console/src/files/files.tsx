import { FileInput, Group, Menu, Progress } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { FILE_PURPOSES } from '../api/address-values.ts';
import { api } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { ChoiceField } from '../ui/fields.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { DialogButton, FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { checkUpload } from './check-upload.ts';
import { useFileMessages } from './messages.ts';
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
  const { q, purpose } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page
      title={files.title}
      intro={files.intro}
      action={
        mayWrite && <DialogButton label={files.upload}>{(close) => <UploadDialog onClose={close} />}</DialogButton>
      }
    >
      <Group>
        <AddressSearch label={files.search} />
        <FilterField
          label={files.purpose}
          data={FILE_PURPOSES}
          value={purpose}
          onChange={(value) => void navigate({ search: (before) => ({ ...before, purpose: value }), replace: true })}
        />
      </Group>
      <ResourceTable<UploadedFile>
        label={files.title}
        queryKey={['files', organization.id, q, purpose]}
        fetchPage={(page) =>
          api.GET('/v1/files', { params: { query: { ...page, order: 'desc', search: q, purpose } } })
        }
        empty={q === undefined && purpose === undefined ? files.empty : common.noMatches}
        columns={[
          { heading: common.name, cell: (file) => file.filename },
          { heading: files.purpose, cell: (file) => file.purpose },
          { heading: common.status, cell: (file) => <StatusBadge status={file.status} /> },
          numberColumn(common.size, (file) => format.bytes(file.bytes)),
          { heading: common.created, cell: (file) => format.time(file.created_at) },
        ]}
        actions={(file) => <FileActions file={file} />}
      />
    </Page>
  );
}

/** Download and deletion of a file. */
function FileActions({ file }: { file: UploadedFile }) {
  const files = useFileMessages();
  const common = useCommonMessages();
  const mayWrite = useMayWrite();
  return (
    <>
      <Menu.Item component="a" href={`/v1/files/${file.id}/content`} download={file.filename}>
        {files.download}
      </Menu.Item>
      {mayWrite && (
        <ConfirmButton
          label={common.delete}
          name={file.filename}
          text={files.deleteText}
          action={() => api.DELETE('/v1/files/{file_id}', { params: { path: { file_id: file.id } } })}
          refreshes={['files']}
        />
      )}
    </>
  );
}

function UploadDialog({ onClose }: { onClose(): void }) {
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
  };
  return (
    <FormDialog
      title={files.upload}
      submitLabel={files.upload}
      isValid={file !== null && defect === null}
      onClose={onClose}
      submit={submit}
      refreshes={['files']}
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
      <ChoiceField
        label={files.purpose}
        description={files.purposeHint}
        values={FILE_PURPOSES}
        value={purpose}
        onChange={setPurpose}
      />
      {share !== null && <Progress aria-label={files.upload} value={share * 100} />}
    </FormDialog>
  );
}
