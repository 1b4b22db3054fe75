import { SegmentedControl } from '@mantine/core';

/** Values of a choice with their labels. */
export interface Options<Value extends string> {
  values: readonly Value[];
  /** Default: the values. */
  labels?: Readonly<Record<Value, string>>;
}

/** The values as options of an input. */
export const toOptions = <Value extends string>({ values, labels }: Options<Value>) =>
  values.map((value) => ({ value, label: labels?.[value] ?? value }));

interface SegmentsProps<Value extends string> extends Options<Value> {
  label: string;
  value: Value;
  onChange(value: NoInfer<Value>): void;
  fullWidth?: boolean;
}

/** Selects one of a few values, all of which are shown. */
export function Segments<Value extends string>({
  label,
  onChange,
  fullWidth,
  value,
  ...options
}: SegmentsProps<Value>) {
  const width = fullWidth ? { fullWidth } : { w: 'fit-content' };
  const change = (next: string) => onChange(next as Value);
  return <SegmentedControl aria-label={label} data={toOptions(options)} value={value} onChange={change} {...width} />;
}
