import { FileInput, Progress, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Hint } from '../ui/text.tsx';
import { downloadArchive, importArchive } from './archive.ts';
import { useKnowledgeBaseMessages } from './messages.ts';

/** Downloads a knowledge base as one file. */
export function ExportKnowledgeBase({ base, onClose }: { base: { id: string; name: string }; onClose(): void }) {
  const kb = useKnowledgeBaseMessages();
  return (
    <FormDialog title={kb.export} submitLabel={kb.exportSubmit} onClose={onClose} submit={() => downloadArchive(base)}>
      <Hint>{kb.exportHint}</Hint>
    </FormDialog>
  );
}

/** Creates a knowledge base from an exported file, and opens it. */
export function ImportKnowledgeBase({ onClose }: { onClose(): void }) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const navigate = useNavigate();
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState('');
  const [share, setShare] = useState<number | null>(null);
  const controller = useRef(new AbortController());
  // Leaving the dialog ends the upload.
  useEffect(() => () => controller.current.abort(), []);
  const submit = async () => {
    if (file === null) return;
    controller.current = new AbortController();
    const { signal } = controller.current;
    const imported = await importArchive(file, name, { onProgress: setShare, signal });
    const { id } = imported.knowledge_base;
    await navigate({ to: '/knowledge-bases/$kbId', params: { kbId: id }, search: { tab: 'jobs' } });
  };
  return (
    <FormDialog
      title={kb.import}
      submitLabel={kb.import}
      isValid={file !== null}
      onClose={onClose}
      submit={submit}
      refreshes={['knowledge-bases']}
    >
      <FileInput
        label={kb.archive}
        description={kb.importHint}
        placeholder={common.choose}
        required
        data-autofocus
        accept=".tar"
        value={file}
        onChange={setFile}
      />
      <TextInput
        label={common.name}
        description={kb.importName}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {share !== null && <Progress aria-label={kb.import} value={share * 100} />}
    </FormDialog>
  );
}
