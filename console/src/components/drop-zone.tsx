import { Button, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';

/** An area that takes dropped or chosen files. */
export function DropZone({ hint, choose, onFiles }: { hint: string; choose: string; onFiles(files: File[]): void }) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  return (
    <Stack
      align="center"
      p="xl"
      className="drop-zone"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <Text ta="center">{hint}</Text>
      <Button variant="default" onClick={() => input.current?.click()}>
        {choose}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={choose}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </Stack>
  );
}
