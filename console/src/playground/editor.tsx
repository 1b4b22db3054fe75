import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { lazy, Suspense, useId, useState } from 'react';
import type { JsonProblem } from '../ui/json-editor.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { LoadingState } from '../ui/states.tsx';
import { usePlaygroundMessages } from './messages.ts';

const JsonEditor = lazy(() => import('../ui/json-editor.tsx'));

interface EditorDialogProps {
  title: string;
  help: string;
  opened: boolean;
  value: string;
  /** Inserted into an empty editor by a button. */
  example: object;
  /** The kind of value that the text must contain. */
  kind: 'array' | 'object';
  onClose(): void;
  onSave(text: string): void;
}

/** Edits a JSON text. Only valid JSON of the right kind, or an empty text, can be saved. */
export function EditorDialog({ opened, onClose, title, ...form }: EditorDialogProps) {
  const common = useCommonMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={title} size="xl" closeButtonProps={{ 'aria-label': common.close }}>
      {opened && <EditorForm title={title} onClose={onClose} {...form} />}
    </Modal>
  );
}

function EditorForm({ title, help, value, example, kind, onClose, onSave }: Omit<EditorDialogProps, 'opened'>) {
  const playground = usePlaygroundMessages();
  const common = useCommonMessages();
  const helpId = useId();
  const [initial, setInitial] = useState(value);
  const [text, setText] = useState(value);
  const [problem, setProblem] = useState<JsonProblem | null>(null);
  const isValid = isOfKind(text, kind);
  const message = useProblemText(text, kind, problem);
  const insertExample = () => {
    const json = JSON.stringify(example, null, 2);
    setInitial(json);
    setText(json);
  };
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {help}
      </Text>
      <Suspense fallback={<LoadingState />}>
        <JsonEditor
          key={initial}
          label={title}
          describedBy={helpId}
          initialValue={initial}
          onChange={setText}
          onProblem={setProblem}
        />
      </Suspense>
      <div id={helpId}>
        <Text size="sm" c="dimmed">
          {playground.editorKeys}
        </Text>
        <Text size="sm" c="red" role="status">
          {message}
        </Text>
      </div>
      <Group justify="space-between">
        <Button variant="subtle" onClick={insertExample}>
          {playground.insertExample}
        </Button>
        <Group>
          <Button variant="default" onClick={onClose}>
            {common.cancel}
          </Button>
          <Button
            disabled={!isValid}
            onClick={() => {
              onSave(text.trim());
              onClose();
            }}
          >
            {common.save}
          </Button>
        </Group>
      </Group>
    </Stack>
  );
}

/** Says what is wrong with the text; null when nothing is, or before the editor has parsed it. */
function useProblemText(text: string, kind: 'array' | 'object', problem: JsonProblem | null): string | null {
  const playground = usePlaygroundMessages();
  if (problem !== null) return fill(playground.jsonProblem, { line: problem.line, message: problem.message });
  if (isOfKind(text, kind) || !isJson(text)) return null;
  return kind === 'array' ? playground.mustBeArray : playground.mustBeObject;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isOfKind(text: string, kind: 'array' | 'object'): boolean {
  if (text.trim() === '') return true;
  if (!isJson(text)) return false;
  const value: unknown = JSON.parse(text);
  return kind === 'array' ? Array.isArray(value) : typeof value === 'object' && value !== null && !Array.isArray(value);
}
