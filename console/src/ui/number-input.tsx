import { TextInput, type TextInputProps } from '@mantine/core';
import type { ChangeEvent, FocusEvent, KeyboardEvent } from 'react';

/** Props of a number field. */
export interface NumberInputProps
  extends Omit<TextInputProps, 'value' | 'onChange' | 'min' | 'max' | 'step' | 'prefix'> {
  /** Empty if no number is entered. */
  value: number | string;
  onChange(value: number | string): void;
  min?: number;
  max?: number;
  /** Step of the arrow keys. Default: 1. */
  step?: number;
  allowDecimal?: boolean;
  /** Text before the number. */
  prefix?: string;
}

/** Number field. Values are clamped to the bounds on blur. */
export function NumberInput({
  value,
  onChange,
  min,
  max,
  step = 1,
  allowDecimal = true,
  prefix,
  ...props
}: NumberInputProps) {
  const clamp = (number: number) => Math.min(max ?? Infinity, Math.max(min ?? -Infinity, number));
  const handleKey = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    const next = Number(value) + (event.key === 'ArrowUp' ? step : -step);
    // Avoids floating-point errors: 0.1 + 0.2 is 0.30000000000000004.
    onChange(clamp(Number(next.toPrecision(12))));
  };
  const handleBlur = ({ currentTarget: { valueAsNumber } }: FocusEvent<HTMLInputElement>) => {
    if (!Number.isNaN(valueAsNumber) && clamp(valueAsNumber) !== valueAsNumber) onChange(clamp(valueAsNumber));
  };
  return (
    <TextInput
      type="number"
      step={allowDecimal ? 'any' : 1}
      inputMode={allowDecimal ? 'decimal' : 'numeric'}
      {...(prefix !== undefined && { leftSection: prefix, leftSectionWidth: 24 })}
      {...props}
      value={value}
      onKeyDown={handleKey}
      onBlur={handleBlur}
      onChange={({ currentTarget }: ChangeEvent<HTMLInputElement>) =>
        onChange(Number.isNaN(currentTarget.valueAsNumber) ? '' : currentTarget.valueAsNumber)
      }
    />
  );
}
