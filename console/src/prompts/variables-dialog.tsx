import { useState } from 'react';
import { TextAreaField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Hint } from '../ui/text.tsx';
import { usePromptMessages } from './messages.ts';
import { type Prompt, renderPrompt } from './prompt-queries.ts';

interface VariablesProps {
  prompt: Prompt;
  onInsert(text: string): void;
  onClose(): void;
}

/** Dialog that asks for the variables of a prompt. */
export function VariablesDialog({ prompt, onInsert, onClose }: VariablesProps) {
  const messages = usePromptMessages();
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(prompt.variables.map((name) => [name, ''])),
  );
  return (
    <FormDialog
      title={prompt.name}
      submitLabel={messages.insert}
      onClose={onClose}
      submit={async () => onInsert(await renderPrompt(prompt, values))}
    >
      <Hint lineClamp={3}>{prompt.text}</Hint>
      {prompt.variables.map((name, index) => (
        <TextAreaField
          key={name}
          param={`variables.${name}`}
          label={name}
          autosize
          maxRows={8}
          required
          data-autofocus={index === 0 || undefined}
          value={values[name] ?? ''}
          onChange={(value) => setValues({ ...values, [name]: value })}
        />
      ))}
    </FormDialog>
  );
}
