import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useCommonMessages } from './messages.ts';
import { ErrorState } from './states.tsx';
import { useSendOnce } from './validated-form.tsx';

interface ConfirmButtonProps {
  label: string;
  title: string;
  text: string;
  /** Resolves when the action is done; its error is shown in the dialog. */
  action(): Promise<unknown>;
  color?: string;
  children?: ReactNode;
}

/** A button that asks before it acts. */
export function ConfirmButton({ label, title, text, action, color = 'red', children }: ConfirmButtonProps) {
  const common = useCommonMessages();
  const [isOpen, setOpen] = useState(false);
  const mutation = useMutation({ mutationFn: action, onSuccess: () => setOpen(false) });
  const send = useSendOnce(mutation);
  return (
    <>
      <Button
        size="compact-sm"
        variant="subtle"
        color={color}
        onClick={() => setOpen(true)}
        aria-label={`${label}: ${title}`}
      >
        {label}
      </Button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title={title}>
        <Stack>
          <Text>{text}</Text>
          {children}
          {mutation.isError && <ErrorState error={mutation.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setOpen(false)}>
              {common.cancel}
            </Button>
            <Button color={color} loading={mutation.isPending} onClick={send}>
              {label}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
