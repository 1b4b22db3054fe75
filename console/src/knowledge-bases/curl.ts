/** The request as a shell command, which reads the key from `QUIRE_API_KEY`. */
export function toCurl(path: string, body: object): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return [
    `curl ${globalThis.location.origin}${path} \\`,
    '  -H "Authorization: Bearer $QUIRE_API_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '${quoted}'`,
  ].join('\n');
}
