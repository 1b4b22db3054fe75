import { Button, type ButtonProps, Group, Modal, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/refresh.ts';
import { useCommonMessages } from './messages.ts';
import { MutationError } from './states.tsx';
import { type FormFailure, type FormMutation, ValidatedForm } from './validated-form.tsx';

interface FormProps {
  children: ReactNode;
  /** The text of the button that submits; default "Save". */
  submitLabel?: string;
  /** False while a field that the browser cannot check is missing. */
  isValid?: boolean;
  /** Error to show at the fields; default: of the last submission. */
  failure?: FormFailure | null;
  onCancel(): void;
  /** Sends the form; its error is shown above the buttons. */
  mutation: FormMutation;
}

/** A form with the error of its last attempt and the buttons to cancel and submit. */
export function Form({
  children,
  submitLabel,
  isValid = true,
  onCancel,
  mutation,
  failure = mutation.error,
}: FormProps) {
  const common = useCommonMessages();
  return (
    <ValidatedForm mutation={mutation} failure={failure}>
      <Stack>
        {children}
        <MutationError mutation={mutation} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {common.cancel}
          </Button>
          <Button type="submit" loading={mutation.isPending} disabled={!isValid}>
            {submitLabel ?? common.save}
          </Button>
        </Group>
      </Stack>
    </ValidatedForm>
  );
}

interface FormDialogProps extends Omit<FormProps, 'onCancel' | 'mutation'> {
  title: string;
  onClose(): void;
  /** Sends the form. The dialog closes when it resolves, unless `onClose` ran before, and shows its error. */
  submit(): Promise<unknown>;
  /** Names of the queries that the form changes. */
  refreshes?: readonly string[];
  size?: string;
}

/**
 * A dialog with a form. Render it while it is open (`{isOpen && <CreateDialog />}`), so that its fields are empty each
 * time.
 */
export function FormDialog({ title, onClose, submit, refreshes = [], size = 'md', ...form }: FormDialogProps) {
  const refresh = useRefresh(...refreshes);
  const mutation = useMutation<unknown, Error, void>({ mutationFn: () => submit().then(refresh), onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={title} size={size}>
      <Form {...form} onCancel={onClose} mutation={mutation} />
    </Modal>
  );
}

interface DialogButtonProps extends Omit<ButtonProps, 'children'> {
  label: string;
  'aria-label'?: string;
  /** The dialog while it is open. */
  children(close: () => void): ReactNode;
}

/** A button that opens a dialog. */
export function DialogButton({ label, children, ...button }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)} {...button}>
        {label}
      </Button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}
