/** Lookalikes of Latin letters that NFKD leaves alone, as pairs: what is written, what it looks like. */
const LOOKALIKES = [
  // Greek, capitals whose lower case looks like something else first.
  'ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx',
  'αaβbγyδdεeηnιiκkμuνvοoπnρpςsσoτtυuχxωw',
  // Cyrillic, both cases.
  'АaВbЕeЅsІiЈjКkМmНhОoРpСcТtУyХxҮyЗ3Ь6Ѵv',
  'аaвbгrеeзeиuкkмmнhоoпnрpсcтtуyхxьbѕsіiјjһhѵvҝkүyұyԁdԍgԛqԝwӏlєeґrыb',
  // Armenian, Cherokee, Hebrew and others that forged words are made of.
  'օoսuհhոnցgզqյjոnᎪaᏴbᏟcᎠdᎬeᏀgᎻhᎥiᎫjᏦkᏞlᎷmᏢpᏒrᏚsᎢtᏙvᎳwᎩyᏃz',
  // Letters of the Latin blocks without a decomposition.
  'ıiłlŁløoØođdĐdħhĦhŧtŦtɐaɑaɒaɓbƀbɕcɖdɗdƒfɠgɡgɢgɦhɨiɩiɪiɫlɭlʟlɯmɱmɲnɳnɴnɔcɵoƥpɋqɹrɾrʀrʂsʃsƭtʈtʉuʊuʋvʌvʍwʏyɣyʐzʒzəeɛeɜeɘe',
  'ᴀaʙbᴄcᴅdᴇeꜰfʜhᴊjᴋkᴍmᴏoᴘpꞯqꜱsᴛtᴜuᴠvᴡwᴢz',
  // Signs that stand for letters or for plain punctuation.
  '€e£l¥y₽p¢cↄcΩo℮e∂d∑e∏nµu×x•.·.۔.。.،,、,؟?¡!¿?',
];

/** Quotation marks and dashes, by the ASCII character that stands for them all. */
const PUNCTUATION: readonly (readonly [string, string])[] = [
  ['"', '“”„‟«»❝❞〝〞'],
  ["'", '‘’‚‛‹›′`´ʼʹ'],
  ['-', '‐‑‒–—―−'],
];

/** Code points that vanish: marks over letters, joiners, direction signs, fillers, variation selectors, tags. */
const VANISHING: readonly (readonly [number, number])[] = [
  [0x00ad, 0x00ad],
  [0x0300, 0x036f],
  [0x0483, 0x0489],
  [0x0591, 0x05bd],
  [0x0610, 0x061a],
  [0x061c, 0x061c],
  [0x064b, 0x065f],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x20d0, 0x20ff],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfe20, 0xfe2f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffd],
  [0x1f3fb, 0x1f3ff],
  [0xe0000, 0xe0fff],
];

/** Ranges of 26 letters that NFKD leaves alone: negative circled, negative squared, regional indicators. */
const LETTER_RANGES = [0x1f150, 0x1f170, 0x1f1e6];

const SPECIAL = new Map<number, string>([
  [0x00df, 'ss'],
  [0x1e9e, 'ss'],
  [0x00e6, 'ae'],
  [0x00c6, 'ae'],
  [0x0153, 'oe'],
  [0x0152, 'oe'],
]);

const FOLDED = makeTable();

function makeTable(): Map<number, string> {
  const table = new Map(SPECIAL);
  for (const pairs of LOOKALIKES) addPairs(table, [...pairs]);
  for (const [to, from] of PUNCTUATION) for (const mark of from) table.set(mark.codePointAt(0) ?? 0, to);
  for (const [first, last] of VANISHING) for (let code = first; code <= last; code++) table.set(code, '');
  for (const first of LETTER_RANGES) for (let i = 0; i < 26; i++) table.set(first + i, String.fromCharCode(97 + i));
  return table;
}

function addPairs(table: Map<number, string>, characters: readonly string[]): void {
  for (let i = 0; i + 1 < characters.length; i += 2) {
    const from = characters[i]?.codePointAt(0) ?? 0;
    table.set(from, characters[i + 1] ?? '');
  }
}

/** Marks of one character beyond what any writing has. Putting them in order, which normalising does, takes the square of their number. */
const TOO_MANY_MARKS = /(\p{M}{16})\p{M}+/gu;

/**
 * `text` with the tricks of spelling taken out: compatibility forms decomposed, marks and invisible characters gone,
 * lookalikes replaced by the Latin letters they resemble, lower case. ASCII text is only lower-cased.
 */
export function fold(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  // The bulk of East Asian writing stays as it is, like ASCII.
  return text
    .replace(TOO_MANY_MARKS, '$1')
    .normalize('NFKD')
    .replace(/[^\p{ASCII}\u3041-\u312f\u3400-\ua4cf\uac00-\ud7a3]/gu, foldOne)
    .toLowerCase();
}

function foldOne(character: string): string {
  const direct = FOLDED.get(character.codePointAt(0) ?? 0);
  if (direct !== undefined) return direct;
  const lower = character.toLowerCase();
  return lower === character ? character : (FOLDED.get(lower.codePointAt(0) ?? 0) ?? lower);
}
