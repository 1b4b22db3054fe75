import {
  Autocomplete,
  Checkbox,
  type CheckboxGroupProps,
  JsonInput,
  type JsonInputProps,
  MultiSelect,
  type MultiSelectProps,
  NumberInput,
  type NumberInputProps,
  PasswordInput,
  type PasswordInputProps,
  Select,
  type SelectProps,
  TagsInput,
  type TagsInputProps,
  Textarea,
  TextInput,
} from '@mantine/core';
import { type ComponentType, type FormEvent, type ReactNode, useState } from 'react';
import { fill } from './language.tsx';
import { type CommonMessages, useCommonMessages } from './messages.ts';
import { useFormFailure } from './validated-form.tsx';

interface InputProps {
  value?: unknown;
  error?: ReactNode;
  onInvalidCapture?: (event: FormEvent<never>) => void;
}

type FieldProps<P> = P & {
  /** The field of the request, as `param` of an error names it. */
  param: string;
};

/**
 * Makes an input show, until its value changes, why the browser or the API rejected the value. Use the inputs inside of a
 * `ValidatedForm`.
 */
function withFieldError<P extends InputProps>(Input: ComponentType<P>) {
  return function Field({ param, ...props }: FieldProps<P>) {
    const inputProps = props as unknown as P;
    const { error, onInvalidCapture } = useFieldError(param, inputProps.value);
    const shown = inputProps.error ?? error;
    return <Input {...inputProps} error={shown} onInvalidCapture={onInvalidCapture} />;
  };
}

function useFieldError(param: string, value: unknown) {
  const common = useCommonMessages();
  const failure = useFormFailure();
  // The value that the API rejected.
  const [rejected, setRejected] = useState({ failure, value });
  if (rejected.failure !== failure) setRejected({ failure, value });
  const [invalid, setInvalid] = useState<{ message: string; value: unknown } | null>(null);
  const isNamed = failure?.param === param || failure?.param?.startsWith(`${param}.`);
  const ofApi = isNamed && rejected.value === value ? failure?.message : undefined;
  const ofBrowser = invalid !== null && invalid.value === value ? invalid.message : undefined;
  const onInvalidCapture = (event: FormEvent) => {
    event.preventDefault();
    setInvalid({ message: describeInvalid(event.target as HTMLInputElement, common), value });
  };
  return { error: ofBrowser ?? ofApi, onInvalidCapture };
}

function isObjectOrEmpty(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Translates the validation error of the browser. */
function describeInvalid(input: HTMLInputElement, common: CommonMessages): string {
  const { validity, minLength, validationMessage } = input;
  if (validity.valueMissing) return input.type === 'checkbox' ? common.chooseOne : common.fillIn;
  if (validity.tooShort) return fill(common.tooShort, { count: minLength });
  if (validity.typeMismatch && input.type === 'email') return common.notAnEmail;
  return validationMessage;
}

export const TextField = withFieldError(TextInput);
export const TextAreaField = withFieldError(Textarea);
export const NumberField = withFieldError<NumberInputProps>(NumberInput);
export const SelectField = withFieldError<SelectProps>(Select);
export const MultiSelectField = withFieldError<MultiSelectProps>(MultiSelect);
export const AutocompleteField = withFieldError(Autocomplete);
export const TagsField = withFieldError((props: TagsInputProps) => {
  const [text, setText] = useState('');
  // The error disappears while the user types. Otherwise it would disappear on mouse-down and move the clicked button.
  const error = text === '' ? props.error : undefined;
  return <TagsInput {...props} error={error} searchValue={text} onSearchChange={setText} />;
});
/** The text must be a JSON object or empty. */
export const JsonField = withFieldError((props: JsonInputProps) => {
  const common = useCommonMessages();
  const isInvalid = !isObjectOrEmpty(props.value ?? '');
  const validate = (input: HTMLTextAreaElement | null) => input?.setCustomValidity(isInvalid ? common.notAnObject : '');
  return <JsonInput {...props} ref={validate} />;
});
export const CheckboxField = withFieldError(Checkbox);
export const CheckboxGroupField = withFieldError<CheckboxGroupProps>(Checkbox.Group);
export const PasswordField = withFieldError((props: PasswordInputProps) => (
  // Mantine leaves out `aria-invalid` here.
  <PasswordInput {...props} aria-invalid={props.error ? true : undefined} />
));
