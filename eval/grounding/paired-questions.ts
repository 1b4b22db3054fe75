import type { Language } from '../../src/search/languages.ts';
import { stored } from '../retrieval/collections.ts';

/** A pronoun per language of XQuAD. The last two have no spaces between words. */
const PRONOUNS = {
  en: 'it',
  de: 'es',
  es: 'esto',
  ro: 'acesta',
  ru: 'это',
  tr: 'bu',
  el: 'αυτό',
  ar: 'هذا',
  hi: 'यह',
  vi: 'nó',
  th: 'มัน',
  zh: '它',
} as const;
/** Languages with a stemmer. */
const STEMMED: ReadonlySet<string> = new Set(['en', 'de', 'es', 'ro', 'ru', 'tr', 'ar']);
const UNSPACED: ReadonlySet<string> = new Set(['th', 'zh']);
/** Pairs per paragraph, and the distance to a paragraph of another article. */
const MAX_PAIRS = 4;
const FAR = 37;
/** Minimum letters of a shared name; characters in scripts without spaces. */
const LEAST_LETTERS = 4;
const LEAST_CHARACTERS = 3;

type Code = keyof typeof PRONOUNS;

/** Three user turns, and the paragraph that answers the last. */
export interface Conversation {
  kind: 'same paragraph, pronoun' | 'same paragraph, as it is' | 'another article, as it is';
  turns: readonly [string, string, string];
  gold: number;
}

/** XQuAD in one language, with conversations built from its questions. */
export interface ConversationSet {
  texts: readonly string[];
  language: Language;
  conversations: readonly Conversation[];
}

export const CODES = Object.keys(PRONOUNS) as Code[];

/** The collection of XQuAD in a language. */
export const xquadOf = (code: Code) => stored(`xquad ${code}`, `xquad_${code}`);

/** Conversations of two questions on one paragraph after one on another, and the reverse. */
export function conversationsOf(data: string, code: Code): ConversationSet {
  const { documents, queries, gains } = xquadOf(code).read(data);
  const byParagraph = new Map<number, string[]>();
  queries.forEach((query, i) => {
    const [place = 0] = gains[i]?.keys() ?? [];
    byParagraph.set(place, [...(byParagraph.get(place) ?? []), query]);
  });
  const paragraphs = [...byParagraph];
  const conversations = paragraphs.flatMap(([gold, questions], n) => {
    const [otherGold, [other = '']] = paragraphs[(n + FAR) % paragraphs.length] ?? [0, []];
    return questions.slice(1, 1 + MAX_PAIRS).flatMap((second, i): Conversation[] => {
      const first = questions[i] ?? '';
      const leaning = withPronoun(first, second, code);
      return [
        { kind: 'same paragraph, as it is', turns: [other, first, second], gold },
        { kind: 'another article, as it is', turns: [second, first, other], gold: otherGold },
        ...(leaning === null
          ? []
          : [{ kind: 'same paragraph, pronoun' as const, turns: [other, first, leaning] as const, gold }]),
      ];
    });
  });
  return { texts: documents, language: STEMMED.has(code) ? (code as Language) : 'none', conversations };
}

/** Replaces the longest name shared with the first question by a pronoun; null when there is none. */
function withPronoun(first: string, second: string, code: Code): string | null {
  const isUnspaced = UNSPACED.has(code);
  const wordsOf = (text: string): string[] => (isUnspaced ? Array.from(text) : text.split(/\s+/));
  const [before, own] = [wordsOf(first).map(bare), wordsOf(second)];
  let best = { from: 0, to: 0, length: 0 };
  for (let from = 1; from < own.length; from++) {
    for (let at = 1; at < before.length; at++) {
      let size = 0;
      while (
        from + size < own.length &&
        bare(own[from + size] ?? '') !== '' &&
        bare(own[from + size] ?? '') === before[at + size]
      )
        size += 1;
      const run = own.slice(from, from + size);
      const length = run.join('').length;
      if (length > best.length && (isUnspaced ? size >= LEAST_CHARACTERS : run.some(isName)))
        best = { from, to: from + size, length };
    }
  }
  if (best.length === 0) return null;
  const mark = /[?？؟;]$/.exec(own[best.to - 1] ?? '')?.[0] ?? '';
  return [...own.slice(0, best.from), PRONOUNS[code] + mark, ...own.slice(best.to)].join(isUnspaced ? '' : ' ');
}

const bare = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}\p{M}]/gu, '');

/** Capitalised words, or long words in scripts without capitals. */
const isName = (word: string): boolean =>
  bare(word).length >= LEAST_LETTERS && (/^\p{Lu}/u.test(word) || !/[\p{Lu}\p{Ll}]/u.test(word));
