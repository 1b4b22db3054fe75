import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';

/** The languages by tag, each in its own words. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
/** A language of the console. */
export type Language = keyof typeof LANGUAGES;

/** The choice of the user; nothing else of the console is stored in the browser. */
const STORED = 'quire-language';

const isLanguage = (text: string | null | undefined): text is Language => text != null && text in LANGUAGES;

/** The stored language, or the first of the browser that the console has. */
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

/** Provides the language of the console. */
export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, show] = useState(preferredLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const value = useMemo(() => {
    const setLanguage = (next: Language) => {
      localStorage.setItem(STORED, next);
      show(next);
    };
    return { language, setLanguage };
  }, [language]);
  return <LanguageContext.Provider value={value}>{children}</LanguageContext.Provider>;
}

/** The language and how to change it. */
export const useLanguage = (): LanguageState => useContext(LanguageContext);

/** A text in every language, in the order of `LANGUAGES`. */
type Translations = readonly [en: string, de: string];
/** Texts by name, in groups where they belong together. */
interface TextTree {
  [name: string]: Translations | TextTree;
}
type InOneLanguage<Texts> = {
  [Name in keyof Texts]: Texts[Name] extends Translations ? string : InOneLanguage<Texts[Name]>;
};

function selectLanguage(texts: TextTree, index: number): object {
  const select = (text: Translations | TextTree) =>
    Array.isArray(text) ? text[index] : selectLanguage(text as TextTree, index);
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, select(text)]));
}

/** Declares the texts of a topic in every language. Returns a hook that returns the texts of the current language. */
export function defineMessages<const Texts extends TextTree>(texts: Texts) {
  const selected = Object.keys(LANGUAGES).map((tag, index) => [tag, selectLanguage(texts, index)]);
  const byLanguage: Record<Language, InOneLanguage<Texts>> = Object.fromEntries(selected);
  return () => byLanguage[useLanguage().language];
}

/** Replaces `{name}` in a text. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
