const VERBS: Readonly<Record<string, string>> = { GET: 'get', DELETE: 'delete', PATCH: 'update', PUT: 'set' };

/**
 * Derives the operation id of a route, from which generated clients take the names of their functions:
 * `createChatCompletion`, `listFiles`, `getFile`, `cancelBatch`, `getFileContent`.
 */
export function operationId(method: string, url: string): string {
  const segments = url.split('/').filter((segment) => segment !== '' && segment !== 'v1');
  const nouns = segments.filter((segment) => !isParameter(segment));
  const owners = nouns.slice(0, -1);
  const last = nouns.at(-1) ?? 'root';
  const isItem = isParameter(segments.at(-1) ?? '');
  const isPlural = singular(last) !== last;
  if (method === 'GET' && !isItem && isPlural) return `list${pascal(owners)}${pascalWord(last)}`;
  if (method === 'DELETE' && !isItem && isPlural) return `delete${pascal(owners)}${pascalWord(last)}`;
  if (method === 'POST' && isItem) return `update${pascal(owners)}${pascal([last])}`;
  if (method !== 'POST') return `${VERBS[method] ?? method.toLowerCase()}${pascal(owners)}${pascal([last])}`;
  const isAction = owners.length > 0 && !isPlural;
  return isAction ? `${camelWord(last)}${pascal(owners)}` : `create${pascal(owners)}${pascal([last])}`;
}

const isParameter = (segment: string): boolean => segment.startsWith(':') || segment.startsWith('{');

/** The last noun of a path names the collection; the others name one item each. */
function pascal(nouns: readonly string[]): string {
  return nouns.map((noun) => pascalWord(singular(noun))).join('');
}

/** Nouns that have no singular here. */
const UNCOUNTED: ReadonlySet<string> = new Set(['stats', 'metrics', 'credits']);

function singular(noun: string): string {
  if (UNCOUNTED.has(noun)) return noun;
  return noun.replace(/ies$/, 'y').replace(/ches$/, 'ch').replace(/s$/, '');
}

const pascalWord = (noun: string): string =>
  noun
    .split(/[-_.]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

function camelWord(noun: string): string {
  const word = pascalWord(noun);
  return word.charAt(0).toLowerCase() + word.slice(1);
}
