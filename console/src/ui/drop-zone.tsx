import { Button, Group, Stack, Text } from '@mantine/core';
import { type DragEvent, useRef, useState } from 'react';
import { type ChosenFile, listChosenFiles, MAX_FOLDER_FILES, readDroppedFiles } from './chosen-files.ts';
import { useFormat } from './format.ts';
import { fill } from './language.tsx';
import { useCommonMessages } from './messages.ts';
import { describe } from './states.tsx';
import { ErrorText, Hint } from './text.tsx';

interface DropZoneProps {
  hint: string;
  /** A second line, such as the accepted file types. */
  details?: string | undefined;
  choose: string;
  /** Label of the button that chooses a folder; without it, folders are not read. */
  chooseFolder?: string;
  /** File extensions that the browser offers. */
  accept?: readonly string[] | undefined;
  onFiles(files: ChosenFile[]): void;
}

/** An area that takes dropped or chosen files, and folders. */
export function DropZone({ hint, details, choose, chooseFolder, accept, onFiles }: DropZoneProps) {
  const input = useRef<HTMLInputElement>(null);
  const { isOver, failure, take, events } = useDrop(chooseFolder !== undefined, onFiles);
  const open = (isFolder: boolean) => {
    if (input.current === null) return;
    input.current.webkitdirectory = isFolder;
    input.current.click();
  };
  return (
    <Stack align="center" p="xl" className="drop-zone" data-over={isOver || undefined} {...events}>
      <div>
        <Text ta="center">{hint}</Text>
        {details !== undefined && <Hint ta="center">{details}</Hint>}
      </div>
      <Group justify="center">
        <Button variant="default" onClick={() => open(false)}>
          {choose}
        </Button>
        {chooseFolder !== undefined && (
          <Button variant="default" onClick={() => open(true)}>
            {chooseFolder}
          </Button>
        )}
      </Group>
      <ErrorText role="alert">{failure}</ErrorText>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={choose}
        accept={accept?.join(',')}
        onChange={(event) => {
          take(listChosenFiles(event.currentTarget.files ?? []));
          event.currentTarget.value = '';
          event.currentTarget.webkitdirectory = false;
        }}
      />
    </Stack>
  );
}

/** The state of the area, and the handlers of its events. `takesFolders`: dropped folders are read. */
function useDrop(takesFolders: boolean, onFiles: DropZoneProps['onFiles']) {
  const common = useCommonMessages();
  const format = useFormat();
  const [isOver, setOver] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const take = (files: ChosenFile[]) => {
    const isTooMany = files.length > MAX_FOLDER_FILES;
    setFailure(isTooMany ? fill(common.tooManyFiles, { limit: format.number(MAX_FOLDER_FILES) }) : null);
    if (!isTooMany) onFiles(files);
  };
  const read = async ({ dataTransfer }: DragEvent) => {
    if (!dataTransfer.types.includes('Files')) return;
    if (!takesFolders) return take(listChosenFiles(dataTransfer.files));
    const files = await readDroppedFiles(dataTransfer);
    if (files.length === 0) setFailure(common.noFiles);
    else take(files);
  };
  const events = {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      read(event).catch((error) => setFailure(describe(error)));
    },
  };
  return { isOver, failure, take, events };
}
