import { MantineThemeProvider } from '@mantine/core';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { de } from './de/index.ts';
import { en, type Messages } from './en/index.ts';

/** The catalogues by language tag. */
export const CATALOGUES = { en, de } as const;
export type Language = keyof typeof CATALOGUES;

/** The choice of the user; nothing else of the console is stored in the browser. */
const STORED = 'quire-language';

const isLanguage = (text: string | null | undefined): text is Language => text != null && text in CATALOGUES;

function preferredLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((tag) => tag.split('-')[0]).find(isLanguage) ?? 'en';
}

interface LanguageState {
  language: Language;
  setLanguage(language: Language): void;
}

const LanguageContext = createContext<LanguageState>({ language: 'en', setLanguage: () => {} });

/** Provides the language of the console: the stored one, or the first of the browser that has a catalogue. */
export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setState] = useState(preferredLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const value = useMemo(() => {
    const setLanguage = (next: Language) => {
      localStorage.setItem(STORED, next);
      setState(next);
    };
    return { language, setLanguage };
  }, [language]);
  const theme = useMemo(() => {
    // The button of dialogs shows a cross only.
    const defaultProps = { closeButtonProps: { 'aria-label': CATALOGUES[language].common.dismiss } };
    return { components: { Modal: { defaultProps }, Drawer: { defaultProps } } };
  }, [language]);
  return (
    <LanguageContext.Provider value={value}>
      <MantineThemeProvider theme={theme}>{children}</MantineThemeProvider>
    </LanguageContext.Provider>
  );
}

/** The language and how to change it. */
export const useLanguage = (): LanguageState => useContext(LanguageContext);

/** The texts of the language. */
export const useMessages = (): Messages => CATALOGUES[useContext(LanguageContext).language];

/** Replaces `{name}` in a text. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
