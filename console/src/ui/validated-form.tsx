import { createContext, type FormEvent, type ReactNode, use, useEffect, useRef } from 'react';

/** The error of a request. `param`: dotted path of the field to blame, if any. */
export type FormFailure = Error & { param?: string | null };

/** The mutation that sends a form. It has no variables. */
export interface FormMutation {
  mutate(variables: undefined, options: { onSettled(): void }): void;
  isPending: boolean;
  error: Error | null;
}

const FailureContext = createContext<FormFailure | null>(null);

/** The error of the last request of the form around a field. */
export const useFormFailure = (): FormFailure | null => use(FailureContext);

/** Returns a function that runs a mutation unless it runs: a second click can come before the button is disabled. */
export function useSendOnce(mutation: FormMutation): () => void {
  const isSending = useRef(false);
  return () => {
    if (isSending.current) return;
    isSending.current = true;
    mutation.mutate(undefined, {
      onSettled: () => {
        isSending.current = false;
      },
    });
  };
}

interface ValidatedFormProps {
  mutation: FormMutation;
  /** Error to show at the fields; default: of the mutation. */
  failure?: FormFailure | null;
  children: ReactNode;
}

/**
 * A form whose fields (`fields.tsx`) show their errors. Focus moves to the first invalid field. While a submission
 * runs, others are ignored.
 */
export function ValidatedForm({ mutation, failure = mutation.error, children }: ValidatedFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const send = useSendOnce(mutation);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  useEffect(() => {
    if (failure === null) return;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid=true]');
    // The submit button lost the focus when it was disabled.
    const isLost = document.activeElement === document.body;
    const button = isLost ? form.current?.querySelector<HTMLElement>('[type=submit]') : null;
    (field ?? button)?.focus();
  }, [failure]);
  return (
    <form ref={form} onSubmit={submit} onInvalidCapture={focusFirstInvalid}>
      <FailureContext value={failure}>{children}</FailureContext>
    </form>
  );
}

/** Browsers move the focus only for messages of their own, which the fields replace. */
function focusFirstInvalid({ currentTarget }: FormEvent<HTMLFormElement>) {
  currentTarget.querySelector<HTMLElement>(':is(input, textarea):invalid')?.focus();
}
