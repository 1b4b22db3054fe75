/**
 * A variable: `{{name}}`, with optional spaces inside the braces. Names start with a letter or `_` and have up to 64
 * letters, digits, `_` and `-` of any script. The lookbehind keeps runs of backslashes linear.
 */
const VARIABLE = /(?<!\\)(\\*)\{\{\s*([\p{L}_][\p{L}\p{M}\p{N}_-]{0,63})\s*\}\}/gu;

/**
 * Returns the names of the variables of a template in order of first use, in Unicode form NFC. A backslash escapes the
 * braces, and two backslashes are a literal backslash before a variable. All other braces are literal text.
 */
export function parseVariables(template: string): string[] {
  const names = new Set<string>();
  for (const [, backslashes = '', name = ''] of template.matchAll(VARIABLE))
    if (backslashes.length % 2 === 0) names.add(name.normalize('NFC'));
  return [...names];
}

/**
 * Replaces the variables of a template. `readValue` returns the value of a name. Values are inserted verbatim: braces
 * in a value are literal text.
 */
export function renderTemplate(template: string, readValue: (name: string) => string): string {
  return template.replace(VARIABLE, (match, backslashes: string, name: string) => {
    const escapes = backslashes.length;
    const kept = '\\'.repeat(Math.floor(escapes / 2));
    return escapes % 2 === 1 ? kept + match.slice(escapes) : kept + readValue(name.normalize('NFC'));
  });
}
