/**
 * The English Snowball stemmer ("Porter2", snowballstem.org/algorithms/english/stemmer.html) for lower-case words,
 * without step 0 (apostrophes, which terms do not contain). Frozen: kept figures depend on it. `search/languages.ts`
 * uses Porter's original algorithm, which gives other stems for 5 % of the words of the test collections.
 */
export function stem(word: string): string {
  if (word.length < 3) return word;
  const whole = EXCEPTIONS.get(word);
  if (whole !== undefined) return whole;
  const marked = word.replace(/^y|(?<=[aeiouy])y/g, 'Y');
  const plural = withoutPlural(marked);
  if (FINISHED.has(plural)) return plural;
  const regions = regionsOf(marked);
  const base = withI(withoutPast(plural, regions));
  const stemmed = withoutEnd(take(STEP_4, take(STEP_3, take(STEP_2, base, regions), regions), regions), regions);
  return stemmed.replaceAll('Y', 'y');
}

/** Offsets of the regions R1 and R2, in which suffixes may be removed. */
interface Regions {
  first: number;
  second: number;
}

/** A suffix rule: its replacement within `region`, and the letters required before it. */
interface Suffix {
  ending: string;
  becomes: string;
  region: keyof Regions;
  after?: RegExp;
}

const EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{
      skis: 'ski',
      skies: 'sky',
      dying: 'die',
      lying: 'lie',
      tying: 'tie',
      idly: 'idl',
      gently: 'gentl',
      ugly: 'ugli',
    },
    ...{ early: 'earli', only: 'onli', singly: 'singl', sky: 'sky', news: 'news', howe: 'howe', atlas: 'atlas' },
    ...{ cosmos: 'cosmos', bias: 'bias', andes: 'andes' },
  }),
);
const FINISHED: ReadonlySet<string> = new Set(
  'inning outing canning herring earring proceed exceed succeed'.split(' '),
);

const STEP_2 = suffixes('first', {
  ...{
    tional: 'tion',
    enci: 'ence',
    anci: 'ance',
    abli: 'able',
    entli: 'ent',
    izer: 'ize',
    ization: 'ize',
    ational: 'ate',
  },
  ...{ ation: 'ate', ator: 'ate', alism: 'al', aliti: 'al', alli: 'al', fulness: 'ful', ousli: 'ous', ousness: 'ous' },
  ...{ iveness: 'ive', iviti: 'ive', biliti: 'ble', bli: 'ble', fulli: 'ful', lessli: 'less' },
}).concat([
  { ending: 'ogi', becomes: 'og', region: 'first', after: /l$/ },
  { ending: 'li', becomes: '', region: 'first', after: /[cdeghkmnrt]$/ },
]);
const STEP_3 = suffixes('first', {
  ...{ tional: 'tion', ational: 'ate', alize: 'al', icate: 'ic', iciti: 'ic', ical: 'ic', ful: '', ness: '' },
}).concat([{ ending: 'ative', becomes: '', region: 'second' }]);
const STEP_4 = suffixes(
  'second',
  Object.fromEntries(
    'al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize'.split(' ').map((ending) => [ending, '']),
  ),
).concat([{ ending: 'ion', becomes: '', region: 'second', after: /[st]$/ }]);

function suffixes(region: keyof Regions, table: Readonly<Record<string, string>>): Suffix[] {
  return Object.entries(table).map(([ending, becomes]) => ({ ending, becomes, region }));
}

function regionsOf(word: string): Regions {
  const after = (from: number): number => {
    const found = /[aeiouy][^aeiouy]/.exec(word.slice(from));
    return found === null ? word.length : from + found.index + 2;
  };
  const first = /^(gener|commun|arsen)/.exec(word)?.[0].length ?? after(0);
  return { first, second: after(first) };
}

/** Applies only the longest matching suffix of a step. */
function take(step: readonly Suffix[], word: string, regions: Regions): string {
  let longest: Suffix | undefined;
  for (const suffix of step) {
    if (word.endsWith(suffix.ending) && suffix.ending.length > (longest?.ending.length ?? 0)) longest = suffix;
  }
  if (longest === undefined) return word;
  const rest = word.slice(0, -longest.ending.length);
  const mayGo = rest.length >= regions[longest.region] && (longest.after?.test(rest) ?? true);
  return mayGo ? rest + longest.becomes : word;
}

/** Step 1a. */
function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (/ie[ds]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  if (!word.endsWith('s') || /[us]s$/.test(word)) return word;
  return /[aeiouy].+s$/.test(word) ? word.slice(0, -1) : word;
}

/** Step 1b. */
function withoutPast(word: string, { first }: Regions): string {
  const [present] = /eed(ly)?$/.exec(word) ?? [];
  if (present !== undefined) {
    const rest = word.length - present.length;
    return rest >= first ? `${word.slice(0, rest)}ee` : word;
  }
  const rest = word.replace(/(ed|ing)(ly)?$/, '');
  if (rest === word || !/[aeiouy]/.test(rest)) return word;
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (/(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(rest)) return rest.slice(0, -1);
  return rest.length <= first && endsShort(rest) ? `${rest}e` : rest;
}

/** Step 1c. */
function withI(word: string): string {
  return word.replace(/(?<=.[^aeiouy])[yY]$/, 'i');
}

/** Step 5. */
function withoutEnd(word: string, { first, second }: Regions): string {
  const rest = word.slice(0, -1);
  if (word.endsWith('e')) {
    return rest.length >= second || (rest.length >= first && !endsShort(rest)) ? rest : word;
  }
  return word.endsWith('ll') && rest.length >= second ? rest : word;
}

/** Whether the word ends in a short syllable. */
function endsShort(word: string): boolean {
  return /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$/.test(word);
}
