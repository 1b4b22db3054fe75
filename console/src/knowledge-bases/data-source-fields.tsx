import { Fieldset, Stack } from '@mantine/core';
import {
  CheckboxField,
  JsonField,
  NumberField,
  PasswordField,
  SelectField,
  TagsField,
  TextField,
} from '../ui/fields.tsx';
import { useLanguage } from '../ui/language.tsx';
import { type Config, type FieldSchema, fieldLabel, isFreeObject } from './data-source-schema.ts';
import { translateField } from './field-texts.ts';
import { useDataSourceMessages } from './messages.ts';

interface FieldsProps {
  schema: FieldSchema;
  /** Dotted path of the object in the request, as `param` of an error names it. */
  path: string;
  values: Config;
  onChange(values: Config): void;
  /** Whether empty secrets keep their stored value. */
  isStored: boolean;
}

/** The fields of a config, as its JSON schema declares them. */
export function SchemaFields({ schema, path, values, onChange, isStored }: FieldsProps) {
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
          isStored={isStored}
        />
      ))}
    </Stack>
  );
}

interface FieldProps extends Pick<FieldsProps, 'schema' | 'path' | 'isStored'> {
  name: string;
  isRequired: boolean;
  value: unknown;
  onChange(value: unknown): void;
}

function SchemaField({ name, schema, path, isRequired, value, onChange, isStored }: FieldProps) {
  const sources = useDataSourceMessages();
  const { language } = useLanguage();
  const common = {
    param: path,
    label: translateField(fieldLabel(name), language),
    description: translateField(schema.description ?? '', language).replaceAll('`', '') || undefined,
    required: isRequired && !(isStored && schema.writeOnly === true),
  };
  if (schema.properties !== undefined) {
    const values = (value ?? {}) as Config;
    return (
      <Fieldset legend={common.label}>
        <SchemaFields schema={schema} path={path} values={values} onChange={onChange} isStored={isStored} />
      </Fieldset>
    );
  }
  const text = { value: typeof value === 'string' ? value : '', maxLength: schema.maxLength };
  if (schema.writeOnly) {
    const placeholder = isStored ? sources.secretKept : undefined;
    return (
      <PasswordField {...common} {...text} autoComplete="new-password" placeholder={placeholder} onChange={onChange} />
    );
  }
  if (schema.type === 'boolean') {
    return <CheckboxField {...common} checked={value === true} onChange={onChange} />;
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    return <NumberSchemaField {...common} schema={schema} value={value} onChange={onChange} />;
  }
  if (schema.type === 'array') return <ListSchemaField {...common} value={value} onChange={onChange} />;
  if (schema.enum !== undefined) {
    return <SelectField {...common} data={schema.enum} value={text.value || null} onChange={onChange} />;
  }
  if (isFreeObject(schema)) {
    return <JsonField {...common} value={text.value} autosize minRows={2} placeholder="{ }" onChange={onChange} />;
  }
  return <TextField {...common} {...text} onChange={onChange} />;
}

interface ValueFieldProps {
  param: string;
  label: string;
  description: string | undefined;
  required: boolean;
  value: unknown;
  onChange(value: unknown): void;
}

function NumberSchemaField({ schema, value, onChange, ...common }: ValueFieldProps & { schema: FieldSchema }) {
  const { minimum: min, maximum: max } = schema;
  return (
    <NumberField
      {...common}
      {...(min !== undefined && { min })}
      {...(max !== undefined && { max })}
      allowDecimal={schema.type === 'number'}
      value={typeof value === 'number' ? value : ''}
      onChange={(next) => onChange(next === '' ? undefined : Number(next))}
    />
  );
}

/** Same array in every render: a field compares its value with the rejected one. */
const NO_ITEMS: string[] = [];

function ListSchemaField({ value, required, ...common }: ValueFieldProps) {
  const sources = useDataSourceMessages();
  const list = Array.isArray(value) ? (value as string[]) : NO_ITEMS;
  return (
    <TagsField
      {...common}
      // The text field of a list is empty when the list has items.
      required={required && list.length === 0}
      acceptValueOnBlur
      splitChars={[',', ' ', '\n']}
      placeholder={sources.listHint}
      value={list}
    />
  );
}
