import { Button, Group, Modal, Stack } from '@mantine/core';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { useMessages } from '../messages/index.tsx';
import { ErrorState } from './states.tsx';

interface FormProps {
  children: ReactNode;
  /** The text of the button that submits; default "Save". */
  submitLabel?: string;
  /** False while a field that the browser cannot check is missing. */
  isValid?: boolean;
  onCancel(): void;
  /** Sends the form; its error is shown above the buttons. */
  mutation: Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'isPending' | 'error'>;
}

/** A form with the error of its last attempt and the buttons to cancel and submit. */
export function Form({ children, submitLabel, isValid = true, onCancel, mutation }: FormProps) {
  const { common } = useMessages();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        {mutation.error !== null && <ErrorState error={mutation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {common.cancel}
          </Button>
          <Button type="submit" loading={mutation.isPending} disabled={!isValid}>
            {submitLabel ?? common.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface FormDialogProps extends Omit<FormProps, 'onCancel' | 'mutation'> {
  title: string;
  onClose(): void;
  /** Sends the form. The dialog closes when it resolves, unless `onClose` ran before, and shows its error. */
  submit(): Promise<unknown>;
  size?: string;
}

/**
 * A dialog with a form. Render it while it is open (`{isOpen && <CreateDialog />}`), so that its fields are empty each time.
 */
export function FormDialog({ title, onClose, submit, size = 'md', ...form }: FormDialogProps) {
  const mutation = useMutation<unknown, Error, void>({ mutationFn: submit, onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={title} size={size}>
      <Form {...form} onCancel={onClose} mutation={mutation} />
    </Modal>
  );
}
