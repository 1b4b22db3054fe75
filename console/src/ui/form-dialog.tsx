import { Button, type ButtonProps, Group, Menu, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useContext, useState } from 'react';
import { useRefresh } from '../api/refresh.ts';
import { Drawer, Modal } from './dialogs.tsx';
import { useCommonMessages } from './messages.ts';
import { InRowMenu } from './row-menu.tsx';
import { MutationError } from './states.tsx';
import { type FormFailure, type FormMutation, ValidatedForm } from './validated-form.tsx';

interface FormProps {
  children: ReactNode;
  /** The text of the button that submits; default "Create" for a new resource, otherwise "Save". */
  submitLabel?: string;
  isNew?: boolean;
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
  isNew = false,
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
            {submitLabel ?? (isNew ? common.create : common.save)}
          </Button>
        </Group>
      </Stack>
    </ValidatedForm>
  );
}

/** Width of a form sheet. On phones, the sheet has full width. */
const SHEET_WIDTH = 'min(36rem, 100vw)';

interface FormDialogProps extends Omit<FormProps, 'onCancel' | 'mutation'> {
  title: string;
  onClose(): void;
  /** Sends the form. The dialog closes when it resolves, unless `onClose` ran before, and shows its error. */
  submit(): Promise<unknown>;
  /** Names of the queries that the form changes. */
  refreshes?: readonly string[];
  size?: string;
  /** Whether the form is shown in a sheet at the right instead of a dialog. */
  isSheet?: boolean;
}

/**
 * A dialog with a form. Render it while it is open (`{isOpen && <CreateDialog />}`), so that its fields are empty each
 * time.
 */
export function FormDialog({
  title,
  onClose,
  submit,
  refreshes = [],
  size = 'md',
  isSheet = false,
  ...form
}: FormDialogProps) {
  const refresh = useRefresh(...refreshes);
  const mutation = useMutation<unknown, Error, void>({ mutationFn: () => submit().then(refresh), onSuccess: onClose });
  const content = <Form {...form} onCancel={onClose} mutation={mutation} />;
  if (!isSheet) {
    return (
      <Modal opened onClose={onClose} title={title} size={size}>
        {content}
      </Modal>
    );
  }
  return (
    <Drawer
      opened
      onClose={onClose}
      title={title}
      position="right"
      size={SHEET_WIDTH}
      classNames={{ content: 'sheet' }}
    >
      {content}
    </Drawer>
  );
}

interface DialogButtonProps extends Omit<ButtonProps, 'children'> {
  label: string;
  'aria-label'?: string;
  /** The dialog while it is open. */
  children(close: () => void): ReactNode;
}

/** A button that opens a dialog; an entry in a menu. */
export function DialogButton({ label, children, ...button }: DialogButtonProps) {
  const isEntry = useContext(InRowMenu);
  const [isOpen, setOpen] = useState(false);
  const open = () => setOpen(true);
  return (
    <>
      {isEntry ? (
        <Menu.Item onClick={open}>{label}</Menu.Item>
      ) : (
        <Button onClick={open} {...button}>
          {label}
        </Button>
      )}
      {isOpen && children(() => setOpen(false))}
    </>
  );
}
