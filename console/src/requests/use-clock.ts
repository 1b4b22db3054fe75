import { useMemo } from 'react';
import { useLanguage } from '../ui/language.tsx';

const TIME_OF_DAY = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** Formats Unix milliseconds in the language of the console and the time zone of the browser. */
export function useClock() {
  const { language } = useLanguage();
  return useMemo(() => {
    const exact = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' });
    const clock = new Intl.DateTimeFormat(language, { ...TIME_OF_DAY, second: '2-digit' });
    const dayAndTime = new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', ...TIME_OF_DAY });
    const isToday = (ms: number) => new Date(ms).toDateString() === new Date().toDateString();
    return {
      /** With the day and seconds. */
      exact: (ms: number) => exact.format(ms),
      /** The time with seconds of today, otherwise the day and the time. */
      short: (ms: number) => (isToday(ms) ? clock : dayAndTime).format(ms),
    };
  }, [language]);
}
