import { Group } from '@mantine/core';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { DOCUMENT_KEY, TEXT_FORMATS } from '../api/values.ts';
import { ChoiceField, TextAreaField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';

type TextFormat = (typeof TEXT_FORMATS)[number];

/** Adds a typed text as a document, or replaces the one with the same key. */
export function AddText({ kbId, onClose }: { kbId: string; onClose(): void }) {
  const kb = useKnowledgeBaseMessages();
  const [key, setKey] = useState('');
  const [text, setText] = useState('');
  const [format, setFormat] = useState<TextFormat>('markdown');
  const [expires, setExpires] = useState('');
  const submit = () => {
    // Without a zone, the time is local.
    const expiry = expires === '' ? {} : { expires_at: Math.floor(new Date(expires).getTime() / 1000) };
    const params = { path: { kb_id: kbId } };
    return body(api.POST('/v1/knowledge-bases/{kb_id}/documents', { params, body: { key, text, format, ...expiry } }));
  };
  const refreshes = ['documents', 'document', 'knowledge-base', 'jobs', 'data-sources'];
  return (
    <FormDialog title={kb.addText} submitLabel={kb.addText} size="lg" {...{ onClose, submit, refreshes }}>
      <TextField
        param="key"
        label={kb.key}
        description={kb.keyHint}
        required
        data-autofocus
        {...DOCUMENT_KEY}
        value={key}
        onChange={setKey}
      />
      <TextAreaField
        param="text"
        label={kb.text}
        required
        autosize
        minRows={8}
        maxRows={20}
        value={text}
        onChange={setText}
      />
      <Group align="start" grow>
        <ChoiceField
          param="format"
          label={kb.format}
          values={TEXT_FORMATS}
          labels={kb.formats}
          value={format}
          onChange={setFormat}
        />
        <TextField
          param="expires_at"
          type="datetime-local"
          label={kb.expires}
          description={kb.expiresHint}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={expires}
          onChange={setExpires}
        />
      </Group>
    </FormDialog>
  );
}
