import { Button, Group, Menu, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useContext, useState } from 'react';
import { useRefresh } from '../api/refresh.ts';
import { Modal } from './dialogs.tsx';
import { useCommonMessages } from './messages.ts';
import { InRowMenu } from './row-menu.tsx';
import { MutationError } from './states.tsx';
import { useSendOnce } from './validated-form.tsx';

interface ConfirmButtonProps {
  label: string;
  /** Title of the dialog; default: the label and the name. */
  title?: string;
  /** The name of the item that the action changes. */
  name?: string;
  text: string;
  /** Resolves when the action is done; its error is shown in the dialog. */
  action(): Promise<unknown>;
  /** Names of the queries that the action changes. */
  refreshes?: readonly string[];
  color?: string;
  children?: ReactNode;
}

/** A button that asks before it acts. */
export function ConfirmButton({
  label,
  name,
  text,
  action,
  refreshes = [],
  color = 'red',
  ...dialog
}: ConfirmButtonProps) {
  const common = useCommonMessages();
  const refresh = useRefresh(...refreshes);
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const mutation = useMutation({ mutationFn: () => action().then(refresh), onSuccess: close });
  const send = useSendOnce(mutation);
  const title = dialog.title ?? `${label}: ${name}`;
  return (
    <>
      <RowButton label={label} name={name ?? title} color={color} onClick={() => setOpen(true)} />
      <Modal opened={isOpen} onClose={close} title={title}>
        <Stack>
          <Text>{text}</Text>
          {dialog.children}
          <MutationError mutation={mutation} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
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

interface RowButtonProps {
  label: string;
  /** The name of the item, which tells a screen reader the buttons of the rows apart. */
  name: string;
  color?: string;
  variant?: string;
  loading?: boolean;
  onClick(): void;
}

/** A button for one of several items; an entry in the menu of a row. */
export function RowButton({ label, name, ...button }: RowButtonProps) {
  const isEntry = useContext(InRowMenu);
  const accessibleName = `${label}: ${name}`;
  if (!isEntry) {
    return (
      <Button size="compact-sm" variant="subtle" aria-label={accessibleName} {...button}>
        {label}
      </Button>
    );
  }
  const { color, loading = false, onClick } = button;
  return (
    <Menu.Item
      aria-label={accessibleName}
      {...(color === 'red' && { c: 'var(--bad)' })}
      disabled={loading}
      onClick={onClick}
    >
      {label}
    </Menu.Item>
  );
}

/** Shows the error of an action of a row, whose menu is closed by then. */
export function FailureDialog({
  title,
  mutation,
}: {
  title: string;
  mutation: { error: Error | null; reset(): void };
}) {
  return (
    <Modal opened={mutation.error !== null} onClose={mutation.reset} title={title}>
      <MutationError mutation={mutation} />
    </Modal>
  );
}
