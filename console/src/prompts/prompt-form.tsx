import { useState } from 'react';
import { api } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import { NameField, SwitchField, TextAreaField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { usePromptMessages } from './messages.ts';
import { PROMPT_QUERIES } from './prompt-queries.ts';

/** Form values of a prompt. */
export interface PromptDraft {
  name: string;
  text: string;
  shared: boolean;
}

/** Dialog that creates a prompt. */
export function CreatePromptDialog({ onClose }: { onClose(): void }) {
  const messages = usePromptMessages();
  const common = useCommonMessages();
  const [draft, setDraft] = useState<PromptDraft>({ name: '', text: '', shared: false });
  return (
    <FormDialog
      title={messages.create}
      submitLabel={common.create}
      size="lg"
      onClose={onClose}
      refreshes={PROMPT_QUERIES}
      submit={() => api.POST('/v1/prompts', { body: draft })}
    >
      <PromptFields draft={draft} onChange={setDraft} />
    </FormDialog>
  );
}

interface PromptFieldsProps {
  draft: PromptDraft;
  onChange(draft: PromptDraft): void;
}

/** Fields for name, text and sharing of a prompt. */
export function PromptFields({ draft, onChange }: PromptFieldsProps) {
  const messages = usePromptMessages();
  const mayShare = useMayWrite();
  const set = (changes: Partial<PromptDraft>) => onChange({ ...draft, ...changes });
  return (
    <>
      <NameField maxLength={200} value={draft.name} onChange={(name) => set({ name })} />
      <TextAreaField
        param="text"
        label={messages.text}
        description={messages.textHint}
        required
        autosize
        minRows={5}
        maxRows={16}
        maxLength={100_000}
        value={draft.text}
        onChange={(text) => set({ text })}
      />
      {mayShare && (
        <SwitchField
          label={messages.share}
          description={messages.shareHint}
          checked={draft.shared}
          onChange={(shared) => set({ shared })}
        />
      )}
    </>
  );
}
