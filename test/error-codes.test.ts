/** The error catalogue: `docs/use/errors.md` lists every code of the service, and no other. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isTest } from './architecture/source.ts';
import { codePaths, ROOT } from './architecture/tree.ts';

/** The first argument of the functions that make errors, and the field of their class. */
const CODES = /(?:new ApiError\(\{[^}]*?code: |(?:badRequest|unauthenticated)\(\s*)'([a-z_]+)'/g;
const MISSING_RESOURCES = /(?:notFound|findRow)\(\s*'(\w+)'/g;

const codesOf = (text: string): string[] => [
  ...[...text.matchAll(CODES)].map(([, code]) => code ?? ''),
  ...[...text.matchAll(MISSING_RESOURCES)].map(
    ([, resource = '']) => `${resource.replaceAll(/[A-Z]/g, '_$&').toLowerCase()}_not_found`,
  ),
];

const unique = (codes: readonly string[]) => [...new Set(codes)].toSorted();

describe('the codes of errors', () => {
  it('are those of docs/use/errors.md', () => {
    const sources = codePaths().filter((path) => path.startsWith('src/') && !isTest(path));
    const used = sources.flatMap((path) => codesOf(readFileSync(join(ROOT, path), 'utf8')));
    assert.ok(used.length > 40, used.join(' '));
    const rows = readFileSync(join(ROOT, 'docs/use/errors.md'), 'utf8').matchAll(/^\| \d+ \| `[a-z_]+` \| (.*?) \|$/gm);
    const documented = [...rows].flatMap(([, codes = '']) =>
      [...codes.matchAll(/`([a-z_]+)`/g)].map(([, code = '']) => code),
    );
    assert.deepEqual(unique(documented), unique(used));
  });
});
