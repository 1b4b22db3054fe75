import { Select, type SelectProps } from '@mantine/core';

interface FilterProps<Value extends string> extends Omit<SelectProps, 'data' | 'value' | 'onChange'> {
  label: string;
  /** Whether the label is visible above the field. Otherwise, only screen readers read it. */
  isLabelled?: boolean;
  data: readonly (Value | { value: Value; label: string })[];
  /** Undefined: not filtered. */
  value: Value | undefined;
  onChange(value: Value | undefined): void;
}

/** Selects the value that a list is filtered by. The placeholder, by default the label, is shown without a filter. */
export function FilterField<Value extends string>({
  label,
  isLabelled,
  data,
  value,
  onChange,
  ...props
}: FilterProps<Value>) {
  const change = (next: string | null) => onChange((next ?? undefined) as Value | undefined);
  const named = isLabelled ? { label } : { 'aria-label': label };
  const shared = { ...named, placeholder: label, clearable: true, data: [...data], onChange: change };
  return <Select {...shared} value={value ?? null} {...props} />;
}
