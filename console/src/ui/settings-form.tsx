import { Alert, Button, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { MutationError } from './states.tsx';
import { ValidatedForm } from './validated-form.tsx';

interface SettingsFormProps {
  children: ReactNode;
  submitLabel: string;
  /** Message after the change. */
  doneText: string;
  /** Query whose data the response replaces. */
  queryKey: readonly unknown[];
  /** Sends the form. Resolves with the changed settings. */
  submit(): Promise<unknown>;
}

/** Form on a page that changes settings. It stays open and confirms the change. */
export function SettingsForm({ children, submitLabel, doneText, queryKey, submit }: SettingsFormProps) {
  const queryClient = useQueryClient();
  const mutation = useMutation<unknown, Error, void>({
    mutationFn: submit,
    onSuccess: (changed) => queryClient.setQueryData(queryKey, changed),
  });
  return (
    <ValidatedForm mutation={mutation}>
      <Stack maw={420}>
        {children}
        <MutationError mutation={mutation} />
        {mutation.isSuccess && <Alert color="teal">{doneText}</Alert>}
        <Button type="submit" w="fit-content" loading={mutation.isPending}>
          {submitLabel}
        </Button>
      </Stack>
    </ValidatedForm>
  );
}
