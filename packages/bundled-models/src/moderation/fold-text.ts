/** Homoglyphs of Latin letters that NFKD keeps, as pairs of a character and its replacement. */
const HOMOGLYPHS = [
  // Greek; capitals first, whose lower case has other lookalikes.
  'ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx',
  'αaβbγyδdεeηnιiκkμuνvοoπnρpςsσoτtυuχxωw',
  // Cyrillic, both cases.
  'АaВbЕeЅsІiЈjКkМmНhОoРpСcТtУyХxҮyЗ3Ь6Ѵv',
  'аaвbгrеeзeиuкkмmнhоoпnрpсcтtуyхxьbѕsіiјjһhѵvҝkүyұyԁdԍgԛqԝwӏlєeґrыb',
  // Armenian and Cherokee.
  'օoսuհhոnցgզqյjոnᎪaᏴbᏟcᎠdᎬeᏀgᎻhᎥiᎫjᏦkᏞlᎷmᏢpᏒrᏚsᎢtᏙvᎳwᎩyᏃz',
  // Letters of the Latin blocks without a decomposition.
  'ıiłlŁløoØođdĐdħhĦhŧtŦtɐaɑaɒaɓbƀbɕcɖdɗdƒfɠgɡgɢgɦhɨiɩiɪiɫlɭlʟlɯmɱmɲnɳnɴnɔcɵoƥpɋqɹrɾrʀrʂsʃsƭtʈtʉuʊuʋvʌvʍwʏyɣyʐzʒzəeɛeɜeɘe',
  'ᴀaʙbᴄcᴅdᴇeꜰfʜhᴊjᴋkᴍmᴏoᴘpꞯqꜱsᴛtᴜuᴠvᴡwᴢz',
  // Symbols for letters and punctuation.
  '€e£l¥y₽p¢cↄcΩo℮e∂d∑e∏nµu×x•.·.۔.。.،,、,؟?¡!¿?',
];

/** Typographic quotation marks and dashes, by their ASCII replacement. */
const PUNCTUATION: readonly (readonly [string, string])[] = [
  ['"', '“”„‟«»❝❞〝〞'],
  ["'", '‘’‚‛‹›′`´ʼʹ'],
  ['-', '‐‑‒–—―−'],
];

/** Code points of A in alphabets that NFKD keeps: negative circled, negative squared, regional indicators. */
const ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6];

const SPECIAL = new Map<number, string>([
  [0x00df, 'ss'],
  [0x1e9e, 'ss'],
  [0x00e6, 'ae'],
  [0x00c6, 'ae'],
  [0x0153, 'oe'],
  [0x0152, 'oe'],
]);

/**
 * Characters that are removed: combining marks of Latin, Greek, Cyrillic, Hebrew and Arabic, invisible characters,
 * blanks that look empty, and skin tones.
 */
const REMOVED =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: combining marks are removed one by one
  /[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800\ufff0-\ufffd\u{1f3fb}-\u{1f3ff}]/gu;

const FOLDED = createTable();

function createTable(): Map<number, string> {
  const table = new Map(SPECIAL);
  for (const pairs of HOMOGLYPHS) addPairs(table, [...pairs]);
  for (const [to, from] of PUNCTUATION) for (const mark of from) table.set(mark.codePointAt(0) ?? 0, to);
  for (const first of ALPHABETS) for (let i = 0; i < 26; i++) table.set(first + i, String.fromCharCode(97 + i));
  return table;
}

function addPairs(table: Map<number, string>, characters: readonly string[]): void {
  for (let i = 0; i + 1 < characters.length; i += 2) {
    const from = characters[i]?.codePointAt(0) ?? 0;
    table.set(from, characters[i + 1] ?? '');
  }
}

/** More marks on one character than any script uses. Normalisation is quadratic in their number. */
const TOO_MANY_MARKS = /(\p{M}{16})\p{M}+/gu;

/**
 * Undoes Unicode obfuscation: decomposes compatibility forms, removes marks and invisible characters, replaces
 * homoglyphs by Latin letters, and lower-cases. ASCII text is only lower-cased.
 */
export function foldText(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  // Most East Asian characters have no folding.
  return text
    .replace(TOO_MANY_MARKS, '$1')
    .normalize('NFKD')
    .replace(REMOVED, '')
    .replace(/[^\p{ASCII}\u3041-\u312f\u3400-\ua4cf\uac00-\ud7a3]/gu, foldCharacter)
    .toLowerCase();
}

function foldCharacter(character: string): string {
  const direct = FOLDED.get(character.codePointAt(0) ?? 0);
  if (direct !== undefined) return direct;
  const lower = character.toLowerCase();
  return lower === character ? character : (FOLDED.get(lower.codePointAt(0) ?? 0) ?? lower);
}
