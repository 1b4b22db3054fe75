/** Valid dates: 29 February in leap years only. */
const DATE = [
  '\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))',
  '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29',
].join('|');
/** Without leap seconds: a grammar cannot know which days have one. */
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?';
/** Six labels of 40 characters stay within the 253 of a host name. */
const HOST = `${LABEL}(?:\\.${LABEL}){0,5}`;
/** Without a length limit: counting would take hundreds of rules, and no model writes such names. */
const MAIL_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;
const DURATION_TIME = 'T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)';
const DURATION_DATE = '(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)';
const ESCAPED = '%[0-9A-Fa-f]{2}';
const PATH_CHAR = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|${ESCAPED})`;
const QUERY = `(?:\\?(?:${PATH_CHAR}|[/?])*)?(?:#(?:${PATH_CHAR}|[/?])*)?`;
const USER = `(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|${ESCAPED})*@)?`;
const AUTHORITY = `//${USER}(?:[A-Za-z0-9._~!$&'()*+,;=-]|${ESCAPED})*(?::\\d*)?`;
const REFERENCE_CHAR = `(?:[A-Za-z0-9._~!$&'()*+,;=@-]|${ESCAPED})`;

/** Each position of `::` in an IPv6 address, and the last two groups as IPv4. */
function ipv6(): string {
  const group = '[0-9A-Fa-f]{1,4}';
  const tail = `(?:${group}:${group}|${IPV4})`;
  const ways = [`(?:${group}:){6}${tail}`];
  for (let before = 0; before <= 5; before++) {
    const head = before === 0 ? '' : `(?:(?:${group}:){0,${before - 1}}${group})?`;
    ways.push(`${head}::${5 - before === 0 ? '' : `(?:${group}:){${5 - before}}`}${tail}`);
  }
  ways.push(`(?:(?:${group}:){0,5}${group})?::${group}`, `(?:(?:${group}:){0,6}${group})?::`);
  return ways.join('|');
}

const EMAIL = `${ATOM}(?:\\.${ATOM})*@(?:${MAIL_LABEL}\\.)+${MAIL_LABEL}`;
const URI = `[A-Za-z][A-Za-z0-9+.-]*:(?:${AUTHORITY}(?:/${PATH_CHAR}*)*|/?${PATH_CHAR}+(?:/${PATH_CHAR}*)*)${QUERY}`;
const URI_REFERENCE = `(?:[A-Za-z][A-Za-z0-9+.-]*:/${PATH_CHAR}+|(?:/(?:${PATH_CHAR}+)|${REFERENCE_CHAR}+)?)(?:/${PATH_CHAR}*)*${QUERY}`;

/** Formats as regular expressions for the whole text. Internationalized formats and templates: their ASCII part. */
const PATTERNS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `(?:${DATE})T${TIME}`,
  duration: `P(?:${DURATION_DATE}(?:${DURATION_TIME})?|${DURATION_TIME}|\\d+W)`,
  email: EMAIL,
  'idn-email': EMAIL,
  'idn-hostname': HOST,
  hostname: HOST,
  ipv4: IPV4,
  ipv6: ipv6(),
  uuid: '[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}',
  uri: URI,
  iri: URI,
  'uri-reference': URI_REFERENCE,
  'iri-reference': URI_REFERENCE,
  'uri-template': URI_REFERENCE,
  // Characters and classes with a repetition; groups would need a stack.
  regex: '\\^?(?:(?:[A-Za-z0-9 _-]|\\\\[dswDSW.]|\\.)[+*?]?)*\\$?',
  'json-pointer': '(?:/(?:[^~/]|~0|~1)*)*',
  'relative-json-pointer': '(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)',
  byte: '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?',
};

/** Bits of OpenAPI's integer formats. */
const BITS: Readonly<Record<string, number>> = { int32: 32, int64: 64 };

/** Returns the pattern of a format; null without a constraint on texts. Unknown formats are annotations. */
export function formatPattern(format: string): string | null {
  return Object.hasOwn(PATTERNS, format) ? `^(?:${PATTERNS[format] ?? ''})$` : null;
}

/** Returns the bits of an integer format; null for other formats. */
export const formatBits = (format: unknown): number | null =>
  typeof format === 'string' && Object.hasOwn(BITS, format) ? (BITS[format] ?? null) : null;
