import { Button, Group, Stack, Text } from '@mantine/core';
import { useId, useState } from 'react';
import { Modal } from '../ui/dialogs.tsx';
import { parseJson } from '../ui/json.ts';
import type { JsonProblem } from '../ui/json-editor.tsx';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { LoadingState } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { usePlaygroundMessages } from './messages.ts';

const JsonEditor = lazyPart(() => import('../ui/json-editor.tsx'), 'default', <LoadingState />);

interface EditorDialogProps {
  title: string;
  help: string;
  value: string;
  /** Inserted into an empty editor by a button. */
  example: object;
  /** The kind of value that the text must contain. */
  kind: 'array' | 'object';
  onClose(): void;
  onSave(text: string): void;
}

/** Edits a JSON text. Only valid JSON of the right kind, or an empty text, can be saved. */
export function EditorDialog(props: EditorDialogProps) {
  return (
    <Modal opened onClose={props.onClose} title={props.title} size="xl">
      <EditorForm {...props} />
    </Modal>
  );
}

function EditorForm({ title, help, value, example, kind, onClose, onSave }: EditorDialogProps) {
  const playground = usePlaygroundMessages();
  const common = useCommonMessages();
  const helpId = useId();
  const [initial, setInitial] = useState(value);
  const [text, setText] = useState(value);
  const [problem, setProblem] = useState<JsonProblem | null>(null);
  const isValid = isEmptyOrKind(text, kind);
  const message = useProblemText(text, kind, problem);
  const insertExample = () => {
    const json = JSON.stringify(example, null, 2);
    setInitial(json);
    setText(json);
  };
  return (
    <Stack>
      <Hint>{help}</Hint>
      <JsonEditor
        key={initial}
        label={title}
        describedBy={helpId}
        initialValue={initial}
        onChange={setText}
        onProblem={setProblem}
      />
      <div id={helpId}>
        <Hint>{playground.editorKeys}</Hint>
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
  if (isEmptyOrKind(text, kind) || (parseJson(text) === null && text.trim() !== 'null')) return null;
  return kind === 'array' ? playground.mustBeArray : playground.mustBeObject;
}

const isEmptyOrKind = (text: string, kind: 'array' | 'object'): boolean =>
  text.trim() === '' || parseJson(text, kind) !== null;
