import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { en, type Messages } from './en/index.ts';

/** The languages by tag, each in its own words. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;

/** The catalogues. Only the one that is shown is loaded; English is part of the application. */
const CATALOGUES: Readonly<Record<Language, () => Promise<Messages>>> = {
  en: async () => en,
  de: async () => (await import('./de/index.ts')).de,
};

/** The choice of the user; nothing else of the console is stored in the browser. */
const STORED = 'quire-language';

const isLanguage = (text: string | null | undefined): text is Language => text != null && text in LANGUAGES;

function preferredLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((tag) => tag.split('-')[0]).find(isLanguage) ?? 'en';
}

/** A language with its texts. */
export interface LoadedLanguage {
  language: Language;
  messages: Messages;
}

async function load(language: Language): Promise<LoadedLanguage> {
  return { language, messages: await CATALOGUES[language]() };
}

/** Loads the stored language, or the first of the browser that has a catalogue. */
export const loadPreferredLanguage = (): Promise<LoadedLanguage> => load(preferredLanguage());

interface LanguageState extends LoadedLanguage {
  setLanguage(language: Language): Promise<void>;
}

const LanguageContext = createContext<LanguageState>({ language: 'en', messages: en, setLanguage: async () => {} });

/** Provides the language of the console. */
export function LanguageProvider({ initial, children }: { initial: LoadedLanguage; children: ReactNode }) {
  const [loaded, setLoaded] = useState(initial);
  const { language } = loaded;
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const value = useMemo(() => {
    const setLanguage = async (next: Language) => {
      setLoaded(await load(next));
      localStorage.setItem(STORED, next);
    };
    return { ...loaded, setLanguage };
  }, [loaded]);
  return <LanguageContext.Provider value={value}>{children}</LanguageContext.Provider>;
}

/** The language and how to change it. */
export const useLanguage = (): LanguageState => useContext(LanguageContext);

/** The texts of the language. */
export const useMessages = (): Messages => useContext(LanguageContext).messages;

/** Replaces `{name}` in a text. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
