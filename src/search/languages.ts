import { stemmer as arabic } from '@orama/stemmers/arabic';
import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as english } from '@orama/stemmers/english';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { stopwords as arabicWords } from '@orama/stopwords/arabic';
import { stopwords as danishWords } from '@orama/stopwords/danish';
import { stopwords as dutchWords } from '@orama/stopwords/dutch';
import { stopwords as englishWords } from '@orama/stopwords/english';
import { stopwords as finnishWords } from '@orama/stopwords/finnish';
import { stopwords as frenchWords } from '@orama/stopwords/french';
import { stopwords as germanWords } from '@orama/stopwords/german';
import { stopwords as hungarianWords } from '@orama/stopwords/hungarian';
import { stopwords as italianWords } from '@orama/stopwords/italian';
import { stopwords as norwegianWords } from '@orama/stopwords/norwegian';
import { stopwords as portugueseWords } from '@orama/stopwords/portuguese';
import { stopwords as romanianWords } from '@orama/stopwords/romanian';
import { stopwords as russianWords } from '@orama/stopwords/russian';
import { stopwords as spanishWords } from '@orama/stopwords/spanish';
import { stopwords as swedishWords } from '@orama/stopwords/swedish';
import { stopwords as turkishWords } from '@orama/stopwords/turkish';

/** Stemmer (Snowball, snowballstem.org) and stop words of a language. */
interface LanguageRules {
  stem(word: string): string;
  stopWords: ReadonlySet<string>;
}

const rules = (stem: (word: string) => string, words: readonly string[]): LanguageRules => ({
  stem,
  stopWords: new Set(words),
});

const LANGUAGES = {
  en: rules(english, englishWords),
  ar: rules(arabic, arabicWords),
  da: rules(danish, danishWords),
  de: rules(german, germanWords),
  es: rules(spanish, spanishWords),
  fi: rules(finnish, finnishWords),
  fr: rules(french, frenchWords),
  hu: rules(hungarian, hungarianWords),
  it: rules(italian, italianWords),
  nl: rules(dutch, dutchWords),
  no: rules(norwegian, norwegianWords),
  pt: rules(portuguese, portugueseWords),
  ro: rules(romanian, romanianWords),
  ru: rules(russian, russianWords),
  sv: rules(swedish, swedishWords),
  tr: rules(turkish, turkishWords),
} satisfies Record<string, LanguageRules>;

/** A language with a stemmer (ISO 639-1), or `none`: words are not stemmed. */
export type Language = keyof typeof LANGUAGES | 'none';

/** Whether a name is that of a language. */
export const isLanguage = (name: string): name is Language => name === 'none' || Object.hasOwn(LANGUAGES, name);

/** Characters from which the language is detected. */
const DETECTION_CHARACTERS = 4000;
/** Minimum stop words: fewer may be homographs of another language. */
const MIN_STOP_WORDS = 3;
/** Minimum share of stop words; in running text it is about a third. */
const MIN_STOP_WORD_SHARE = 0.08;

const SCRIPT_DEFAULTS: readonly [script: RegExp, language: Language][] = [
  [/^\p{Script=Latin}/u, 'en'],
  [/^\p{Script=Cyrillic}/u, 'ru'],
  [/^\p{Script=Arabic}/u, 'ar'],
];

/** Detects the language of a text by its stop words, else by its script. */
export function detectLanguage(text: string): Language {
  const words = (text.slice(0, DETECTION_CHARACTERS).match(/\p{L}+/gu) ?? []).map((word) => word.toLowerCase());
  let best: Language | null = null;
  let most = Math.max(MIN_STOP_WORDS, words.length * MIN_STOP_WORD_SHARE);
  for (const [language, { stopWords }] of Object.entries(LANGUAGES)) {
    const count = words.reduce((sum, word) => sum + (word.length > 1 && stopWords.has(word) ? 1 : 0), 0);
    if (count <= most) continue;
    best = language as Language;
    most = count;
  }
  return best ?? languageByScript(words);
}

/** The most common language of the prevailing script. */
function languageByScript(words: readonly string[]): Language {
  for (const [script, language] of SCRIPT_DEFAULTS) {
    if (words.filter((word) => script.test(word)).length * 2 > words.length) return language;
  }
  return 'none';
}

/** Whether a lower-case word is a stop word. */
export function isStopWord(word: string, language: Language): boolean {
  return language !== 'none' && LANGUAGES[language].stopWords.has(word);
}

/** Stems a lower-case word. */
export function stemWord(word: string, language: Language): string {
  return language === 'none' ? word : LANGUAGES[language].stem(word);
}
