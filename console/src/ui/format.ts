import { useMemo } from 'react';
import { useLanguage } from './language.tsx';

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Formats numbers and times in the language of the console and the time zone of the browser. */
export function useFormat() {
  const { language } = useLanguage();
  return useMemo(() => {
    const dateTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
    const date = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
    const day = new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', timeZone: 'UTC' });
    const number = new Intl.NumberFormat(language);
    const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
    const compact = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
    const unit = (name: string, digits: number) =>
      new Intl.NumberFormat(language, {
        style: 'unit',
        unit: name,
        unitDisplay: 'short',
        maximumFractionDigits: digits,
      });
    const [milliseconds, seconds] = [unit('millisecond', 0), unit('second', 1)];
    const [minutes, hours] = [unit('minute', 1), unit('hour', 1)];
    const money = new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', maximumFractionDigits: 6 });
    /** Milliseconds to hours, in the unit that fits. */
    const duration = (ms: number) => {
      if (ms < 1000) return milliseconds.format(ms);
      if (ms < 60_000) return seconds.format(ms / 1000);
      return ms < 3_600_000 ? minutes.format(ms / 60_000) : hours.format(ms / 3_600_000);
    };
    return {
      /** `seconds`: Unix seconds. */
      time: (seconds: number) => dateTime.format(seconds * 1000),
      date: (seconds: number) => date.format(seconds * 1000),
      /** The UTC day of Unix seconds. */
      day: (seconds: number) => day.format(seconds * 1000),
      number: (value: number) => number.format(value),
      /** A score with two digits after the decimal separator. */
      score: (value: number) => value.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
      /** `1.2K`: for axes and details. */
      compact: (value: number) => compact.format(value),
      duration,
      /** The time between two Unix times in whole seconds. */
      elapsed: (from: number, to: number) => (to > from ? duration(1000 * (to - from)) : `< ${seconds.format(1)}`),
      /** A share from 0 to 1. Null: none. */
      optionalPercent: (value: number | null) => (value === null ? '–' : percent.format(value)),
      /** A share from 0 to 1. */
      percent: (value: number) => percent.format(value),
      /** Micros: millionths of a US dollar. */
      money: (micros: number) => money.format(micros / 1e6),
      bytes: (bytes: number) => {
        const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1000)));
        const options = {
          style: 'unit',
          unit: BYTE_UNITS[power] ?? 'byte',
          unitDisplay: power === 0 ? 'long' : 'short',
          maximumFractionDigits: 1,
        } as const;
        return new Intl.NumberFormat(language, options).format(bytes / 1000 ** power);
      },
    };
  }, [language]);
}
