import {
  Checkbox,
  type CheckboxGroupProps,
  type CheckboxProps,
  JsonInput,
  type JsonInputProps,
  PasswordInput,
  type PasswordInputProps,
  Select,
  type SelectProps,
  Switch,
  type SwitchProps,
  type TagsInputProps,
  Textarea,
  type TextareaProps,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { type ComponentType, type FormEvent, type ReactNode, useState } from 'react';
import { PASSWORD } from '../api/values.ts';
import { parseJson } from './json.ts';
import { fill } from './language.tsx';
import { Autocomplete, MultiSelect, TagsInput } from './list-inputs.tsx';
import { type CommonMessages, useCommonMessages } from './messages.ts';
import { NumberInput } from './number-input.tsx';
import { type Options, toOptions } from './segments.tsx';
import { useFormFailure } from './validated-form.tsx';

interface InputProps {
  value?: unknown;
  error?: ReactNode;
  onInvalidCapture?: (event: FormEvent<never>) => void;
}

type FieldProps<P> = P & {
  /** The field of the request, as `param` of an error names it. */
  param?: string;
};

/** Properties of an input whose `onChange` receives the value. */
type ValueProps<P, Value> = Omit<P, 'onChange'> & { onChange(value: Value): void };

/** Makes an input pass its text or its state to `onChange`, not the event. */
function withValue<P, Key extends 'value' | 'checked'>(Input: ComponentType<P>, key: Key) {
  const Element = Input as ComponentType<object>;
  return function ValueInput({ onChange, ...props }: ValueProps<P, HTMLInputElement[Key]>) {
    const handle = { onChange: (event: FormEvent<HTMLInputElement>) => onChange(event.currentTarget[key]) };
    return <Element {...props} {...handle} />;
  };
}

/**
 * Makes an input show, until its value changes, why the browser or the API rejected the value. Use the inputs inside of
 * a `ValidatedForm`.
 */
function withFieldError<P extends InputProps>(Input: ComponentType<P>) {
  return function Field({ param, ...props }: FieldProps<P>) {
    const inputProps = props as unknown as P;
    const { error, onInvalidCapture } = useFieldError(param, inputProps.value);
    const shown = inputProps.error ?? error;
    return <Input {...inputProps} error={shown} onInvalidCapture={onInvalidCapture} />;
  };
}

function useFieldError(param: string | undefined, value: unknown) {
  const common = useCommonMessages();
  const failure = useFormFailure();
  // The value that the API rejected.
  const [rejected, setRejected] = useState({ failure, value });
  if (rejected.failure !== failure) setRejected({ failure, value });
  const [invalid, setInvalid] = useState<{ message: string; value: unknown } | null>(null);
  const isNamed = param !== undefined && (failure?.param === param || failure?.param?.startsWith(`${param}.`));
  const apiError = isNamed && rejected.value === value ? failure?.message : undefined;
  const browserError = invalid !== null && invalid.value === value ? invalid.message : undefined;
  const onInvalidCapture = (event: FormEvent) => {
    event.preventDefault();
    setInvalid({ message: describeInvalid(event.target as HTMLInputElement, common), value });
  };
  return { error: browserError ?? apiError, onInvalidCapture };
}

/** Translates the validation error of the browser. */
function describeInvalid(input: HTMLInputElement, common: CommonMessages): string {
  const { validity, minLength, validationMessage } = input;
  if (validity.valueMissing) return input.type === 'checkbox' ? common.chooseOne : common.fillIn;
  if (validity.tooShort) return fill(common.tooShort, { count: minLength });
  if (validity.typeMismatch && input.type === 'email') return common.notAnEmail;
  return validationMessage;
}

export const TextField = withFieldError(withValue<TextInputProps, 'value'>(TextInput, 'value'));
export const TextAreaField = withFieldError(withValue<TextareaProps, 'value'>(Textarea, 'value'));
export const NumberField = withFieldError(NumberInput);
export const SelectField = withFieldError<SelectProps>(Select);
export const MultiSelectField = withFieldError(MultiSelect);
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
  const isInvalid = props.value?.trim() !== '' && parseJson(props.value ?? '', 'object') === null;
  const validate = (input: HTMLTextAreaElement | null) => input?.setCustomValidity(isInvalid ? common.notAnObject : '');
  return <JsonInput {...props} ref={validate} />;
});
export const CheckboxField = withFieldError(withValue<CheckboxProps, 'checked'>(Checkbox, 'checked'));
export const SwitchField = withValue<SwitchProps, 'checked'>(Switch, 'checked');
export const CheckboxGroupField = withFieldError<CheckboxGroupProps>(Checkbox.Group);
// Mantine leaves out `aria-invalid` here.
const Password = (props: PasswordInputProps) => (
  <PasswordInput {...props} aria-invalid={props.error ? true : undefined} />
);
export const PasswordField = withFieldError(withValue<PasswordInputProps, 'value'>(Password, 'value'));

/** A field for a new password, with its rules. */
export function NewPasswordField(props: FieldProps<ValueProps<PasswordInputProps, string>>) {
  const common = useCommonMessages();
  const description = fill(common.tooShort, { count: PASSWORD.minLength });
  return <PasswordField autoComplete="new-password" required description={description} {...PASSWORD} {...props} />;
}

/** The field for the name of a resource, the first of a form. */
export function NameField(props: FieldProps<ValueProps<TextInputProps, string>>) {
  const common = useCommonMessages();
  return <TextField param="name" label={common.name} required data-autofocus {...props} />;
}

type ChoiceProps<Value extends string> = FieldProps<Omit<SelectProps, 'data' | 'value' | 'onChange'>> &
  Options<Value> & { value: Value; onChange(value: NoInfer<Value>): void };

/** Selects one of several values. */
export function ChoiceField<Value extends string>({ values, labels, onChange, ...props }: ChoiceProps<Value>) {
  const data = toOptions({ values, ...(labels && { labels }) });
  const change = (value: string | null) => value !== null && onChange(value as Value);
  return <SelectField allowDeselect={false} data={data} onChange={change} {...props} />;
}
