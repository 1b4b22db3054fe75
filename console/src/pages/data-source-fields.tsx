import {
  Checkbox,
  Fieldset,
  JsonInput,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core';
import type { ApiFailure } from '../api/client.ts';
import { useMessages } from '../messages/index.tsx';
import { type Config, type FieldSchema, fieldLabel, isFreeObject } from './data-source-schema.ts';

interface FieldsProps {
  schema: FieldSchema;
  /** Dotted path of the object in the request, as `param` of an error names it. */
  path: string;
  values: Config;
  onChange(values: Config): void;
  failure: ApiFailure | null;
  /** Whether empty secrets keep their stored value. */
  isStored: boolean;
}

/** The fields of a config, as its JSON schema declares them. */
export function SchemaFields({ schema, path, values, onChange, failure, isStored }: FieldsProps) {
  const fields = Object.entries(schema.properties ?? {});
  // Required fields first.
  const isRequired = (name: string) => schema.required?.includes(name) ?? false;
  const sorted = fields.toSorted(([a], [b]) => Number(isRequired(b)) - Number(isRequired(a)));
  return (
    <Stack gap="sm">
      {sorted.map(([name, field]) => (
        <SchemaField
          key={name}
          name={name}
          schema={field}
          path={`${path}.${name}`}
          isRequired={isRequired(name)}
          value={values[name]}
          onChange={(value) => onChange({ ...values, [name]: value })}
          failure={failure}
          isStored={isStored}
        />
      ))}
    </Stack>
  );
}

interface FieldProps extends Pick<FieldsProps, 'schema' | 'path' | 'failure' | 'isStored'> {
  name: string;
  isRequired: boolean;
  value: unknown;
  onChange(value: unknown): void;
}

function SchemaField({ name, schema, path, isRequired, value, onChange, failure, isStored }: FieldProps) {
  const { sources } = useMessages();
  const isNamed = failure?.param != null && (failure.param === path || failure.param.startsWith(`${path}.`));
  const common = {
    label: fieldLabel(name),
    description: schema.description?.replaceAll('`', ''),
    required: isRequired && !(isStored && schema.writeOnly === true),
    error: isNamed ? failure?.message : undefined,
  };
  if (schema.properties !== undefined) {
    return (
      <Fieldset legend={common.label}>
        <SchemaFields
          schema={schema}
          path={path}
          values={(value ?? {}) as Config}
          onChange={onChange}
          failure={failure}
          isStored={isStored}
        />
      </Fieldset>
    );
  }
  const text = { value: typeof value === 'string' ? value : '', maxLength: schema.maxLength };
  if (schema.writeOnly) {
    return (
      <PasswordInput
        {...common}
        {...text}
        autoComplete="new-password"
        placeholder={isStored ? sources.secretKept : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  if (schema.type === 'boolean') {
    return (
      <Checkbox {...common} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
    );
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const { minimum: min, maximum: max } = schema;
    const limits = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
    const shown = typeof value === 'number' ? value : '';
    return (
      <NumberInput
        {...common}
        {...limits}
        allowDecimal={schema.type === 'number'}
        value={shown}
        onChange={(next) => onChange(next === '' ? undefined : Number(next))}
      />
    );
  }
  if (schema.type === 'array') {
    const list = Array.isArray(value) ? (value as string[]) : [];
    const isMissing = common.required && list.length === 0;
    return (
      <TagsInput
        {...common}
        required={isMissing}
        acceptValueOnBlur
        splitChars={[',', ' ', '\n']}
        placeholder={sources.listHint}
        value={list}
        onChange={onChange}
      />
    );
  }
  if (schema.enum !== undefined) {
    return <Select {...common} data={schema.enum} value={text.value || null} onChange={onChange} />;
  }
  if (isFreeObject(schema)) {
    return <JsonInput {...common} value={text.value} autosize minRows={2} placeholder="{ }" onChange={onChange} />;
  }
  return <TextInput {...common} {...text} onChange={(event) => onChange(event.currentTarget.value)} />;
}
