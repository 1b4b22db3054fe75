import { createHash } from 'node:crypto';

/** Names of functions that every engine accepts. */
const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Characters of a name before its hash. */
const NAME_HEAD_CHARACTERS = 55;

/** Name under which models see a tool of a server. Other names than letters, digits, '_' and '-' are replaced. */
export function mcpFunctionName(label: string, name: string): string {
  const qualified = `${label}__${name}`;
  return FUNCTION_NAME.test(qualified) ? qualified : hashedFunctionName(label, name);
}

/** Name with a hash, for a tool whose other name is not possible or taken. */
export function hashedFunctionName(label: string, name: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([label, name]))
    .digest('hex')
    .slice(0, 8);
  return `${`${label}__${name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_HEAD_CHARACTERS)}_${hash}`;
}
