/** Environment variable with the API key of samples: no sample contains a key. */
export const KEY_VARIABLE = 'QUIRE_API_KEY';

/** A request to this service as a shell command. `key`: default: read from the environment. */
export function toCurl(path: string, body: object, { key = `$${KEY_VARIABLE}`, option = '' } = {}): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return [
    `curl ${option}${globalThis.location.origin}${path} \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${quoted}'`,
  ].join('\n');
}
