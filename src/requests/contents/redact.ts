/** Built-in detectors of sensitive data. */
export const DETECTORS = ['email', 'phone', 'card', 'iban', 'api_key'] as const;
/** One of `DETECTORS`. */
export type Detector = (typeof DETECTORS)[number];

/** Detectors and patterns of a redactor. */
export interface RedactionRules {
  detectors: readonly Detector[];
  /** Regular expressions. */
  patterns: readonly string[];
}

/** All expressions are linear: leading quantifiers are bounded. `check` validates a match without separators. */
const EXPRESSIONS: Readonly<Record<Detector, { expression: RegExp; check?: (compact: string) => boolean }[]>> = {
  api_key: [
    { expression: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g },
    { expression: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+/g },
    { expression: /\b(?:(?:quire-)?[spr]k-|sk_|pk_|rk_|gh[opsur]_|github_pat_|glpat-|hf_|xox[abeoprs]-)[\w-]{16,}/g },
    { expression: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}/g },
    { expression: /\bBearer [\w.~+/-]{16,}=*/gi },
  ],
  iban: [{ expression: /\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}/gi, check: isIban }],
  card: [{ expression: /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g, check: isCardNumber }],
  email: [{ expression: /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,63}/gu }],
  phone: [
    { expression: /(?:\+|\b00)[1-9](?:[ ()./-]{0,2}\d){7,14}(?!\d)/g },
    { expression: /(?<![\d.,-])\(?0\d{2,5}\)?[ /-]{1,3}\d{3,4}(?:[ -]?\d){2,6}(?![\d-])/g },
    { expression: /(?<![\d.,-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d-])/g },
  ],
};

/** Whether 13 to 19 digits are a payment card number (Luhn checksum and industry identifier). */
export function isCardNumber(digits: string): boolean {
  if (!/^[2-6]\d{12,18}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Whether a text without separators is an IBAN (ISO 7064 mod 97-10 checksum). */
export function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/i.test(text)) return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** Returns the length of the longest prefix, in whole groups, that passes the check, or 0. */
function checkedLength(match: string, check: (compact: string) => boolean): number {
  const ends = [...match.matchAll(/[ -]|$/g)].map(({ index }) => index).reverse();
  return ends.find((end) => check(match.slice(0, end).replace(/[ -]/g, ''))) ?? 0;
}

/** Replaces matches that pass the check. Searches on after a replacement, or one character after a failed match. */
function replaceChecked(
  text: string,
  { expression, check, replacement }: { expression: RegExp; check(compact: string): boolean; replacement: string },
): string {
  let replaced = '';
  let end = 0;
  expression.lastIndex = 0;
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
    const { index, 0: found } = match;
    const length = checkedLength(found, check);
    if (length > 0) {
      replaced += text.slice(end, index) + replacement;
      end = index + length;
    }
    expression.lastIndex = index + Math.max(1, length);
  }
  return replaced + text.slice(end);
}

/** Compiles a pattern of an organization. Throws a SyntaxError. */
export const compilePattern = (pattern: string): RegExp => new RegExp(pattern, 'gu');

/** Returns a function that replaces detected data by `[email]` etc., and matches of patterns by `[redacted]`. */
export function createRedactor({ detectors, patterns }: RedactionRules): (text: string) => string {
  const own = patterns.map(compilePattern);
  const chosen = DETECTORS.toReversed().filter((detector) => detectors.includes(detector));
  return (text) => {
    let redacted = text;
    for (const expression of own) redacted = redacted.replace(expression, (match) => (match ? '[redacted]' : ''));
    for (const detector of chosen) {
      const replacement = `[${detector}]`;
      for (const { expression, check } of EXPRESSIONS[detector])
        redacted =
          check === undefined
            ? redacted.replace(expression, replacement)
            : replaceChecked(redacted, { expression, check, replacement });
    }
    return redacted;
  };
}
