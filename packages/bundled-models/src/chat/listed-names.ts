/** Names of one list; bounds the grammar of its calls. */
const MAX_NAMES = 8;
const MAX_NAME_WORDS = 4;

/** Words that begin with a capital letter. */
const NAME = String.raw`\p{Lu}[\p{L}\p{M}\p{N}'’.-]*(?: \p{Lu}[\p{L}\p{M}\p{N}'’.-]*){0,${MAX_NAME_WORDS - 1}}`;
/** Three names or more: `Oslo, Rome and Lima`. Two may be one name, such as `Trinidad and Tobago`. */
const LIST = new RegExp(
  String.raw`(?<=^|[\s(:])${NAME}(?:, ${NAME}){1,${MAX_NAMES - 2}},? (?:and|or|und|et|y|&) ${NAME}`,
  'gu',
);

/**
 * Returns the names that a question lists, such as cities: three or more, in order, without duplicates. Empty when it
 * lists none, more than one list, or begins with a list whose first name may contain the first word of the sentence
 * (`Compare Oslo, Rome and Lima`).
 */
export function readListedNames(question: string): string[] {
  const text = question.replace(/\s+/g, ' ').trim();
  const [list, other] = text.matchAll(LIST);
  if (list === undefined || other !== undefined) return [];
  const names = list[0].split(/,? (?:and|or|und|et|y|&) |, /).map((name) => name.replace(/(?:['’]s)?[.'’-]*$/u, ''));
  const isSentenceStart = /(?:^|[.!?] )$/.test(text.slice(0, list.index));
  if (isSentenceStart && names[0]?.includes(' ')) return [];
  return names.every((name) => name !== '') && new Set(names).size === names.length ? names : [];
}
