/**
 * Awkward values: a guarantee that holds for the plain value of a table often breaks for its neighbours. A test of a
 * guarantee runs over the table of its values, and a new kind of value is added here, so that every test of the table
 * runs with it.
 */

/**
 * Texts that break quoting, line formats, patterns and byte counts: ids and names that callers choose, contents of
 * documents.
 */
export const AWKWARD_TEXTS = [
  'plain',
  'a "quoted" word',
  "it's; drop table users --",
  'two\nlines\r\nand a tab\t',
  'back\\slash \\" \\n \\u0000',
  '100%_of ${all} $1 {{all}}',
  '{"json": [1, null]}',
  '=SUM(1,2),"cell"',
  'ราคา 😀 e\u0301 \u2028',
  ' spaces around ',
  '__proto__',
  '../up/../..',
] as const;

/**
 * Overlap of a rotated key, and lifetimes of the key, in seconds from its rotation. `oldSecretSeconds`: how long the
 * old secret works.
 */
export const OVERLAP_SECONDS = 60;
export const KEY_LIFETIMES = [
  { name: 'that never expires', keySeconds: null, oldSecretSeconds: OVERLAP_SECONDS },
  { name: 'that expires after the overlap', keySeconds: 3_600, oldSecretSeconds: OVERLAP_SECONDS },
  { name: 'that expires during the overlap', keySeconds: 30, oldSecretSeconds: 30 },
  { name: 'that expires with the overlap', keySeconds: OVERLAP_SECONDS, oldSecretSeconds: OVERLAP_SECONDS },
] as const;

/**
 * Credits of an organization and a key, in micros, and what they grant a call that wants 10 to 100 micros. Null:
 * unlimited.
 */
export const SCARCE_CREDITS = [
  { name: 'a balance', balance: 60, budget: null, granted: 60 },
  { name: 'a budget', balance: null, budget: 60, granted: 60 },
  { name: 'a balance below the budget', balance: 60, budget: 90, granted: 60 },
  { name: 'a budget below the balance', balance: 90, budget: 60, granted: 60 },
  { name: 'a balance and a budget alike', balance: 60, budget: 60, granted: 60 },
  { name: 'a balance below the minimum', balance: 9, budget: 90, granted: null },
  { name: 'a budget below the minimum', balance: 90, budget: 9, granted: null },
] as const;

const DAY_MS = 86_400_000;
/**
 * UTC days that begin a month, a year or a summer time, or follow a 29 February, with the periods of budgets just
 * before and at their beginning. `start`: milliseconds since 1970.
 */
export const AWKWARD_DAYS = [
  { day: '2026-03-10', month: '2026-03', dayBefore: '2026-03-09', monthBefore: '2026-03' },
  { day: '2026-04-01', month: '2026-04', dayBefore: '2026-03-31', monthBefore: '2026-03' },
  { day: '2027-01-01', month: '2027-01', dayBefore: '2026-12-31', monthBefore: '2026-12' },
  { day: '2028-03-01', month: '2028-03', dayBefore: '2028-02-29', monthBefore: '2028-02' },
  { day: '2026-03-29', month: '2026-03', dayBefore: '2026-03-28', monthBefore: '2026-03' },
].map((each) => ({ ...each, start: Date.parse(each.day), end: Date.parse(each.day) + DAY_MS }));

/**
 * Instants of a UTC day, in milliseconds from its start, and whether the usage of the day before is complete by then.
 */
export const EARLY_HOURS = [
  { name: '00:00', ms: 0, isSettled: false },
  { name: '00:30', ms: 30 * 60_000, isSettled: false },
  { name: '00:59:59.999', ms: 60 * 60_000 - 1, isSettled: false },
  { name: '01:00', ms: 60 * 60_000, isSettled: true },
  { name: '23:59:59.999', ms: DAY_MS - 1, isSettled: true },
] as const;

/** A request by either kind of call: lines of batches cost half. */
export const CALL_KINDS = [
  { name: 'a call', isBatchLine: false, priceShare: 1 },
  { name: 'a line of a batch', isBatchLine: true, priceShare: 0.5 },
] as const;

/** Redirects between origins, and whether the credentials of the first request may be sent to the second. */
export const REDIRECTS = [
  { name: 'the same origin', from: 'https://files.example', to: 'https://files.example', keepsCredentials: true },
  {
    name: 'the same origin over http',
    from: 'http://files.example',
    to: 'http://files.example',
    keepsCredentials: true,
  },
  { name: 'https to http', from: 'https://files.example', to: 'http://files.example', keepsCredentials: false },
  { name: 'http to https', from: 'http://files.example', to: 'https://files.example', keepsCredentials: false },
  { name: 'another host', from: 'https://files.example', to: 'https://evil.example', keepsCredentials: false },
  { name: 'a subdomain', from: 'https://files.example', to: 'https://a.files.example', keepsCredentials: false },
  { name: 'another port', from: 'https://files.example', to: 'https://files.example:8443', keepsCredentials: false },
] as const;
