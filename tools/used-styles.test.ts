import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';

/** The plugin has no types. */
const PLUGIN: string = '../console/used-styles.js';
const { usedStyles } = await import(PLUGIN);
const require = createRequire(new URL('../console/package.json', import.meta.url));

describe('the styles of the build of the console', () => {
  const path = require.resolve('@mantine/core/styles.layer.css');
  const folder = dirname(path);
  const { transform } = usedStyles();

  it('load with the component that has them', () => {
    const modules = globSync('esm/components/**/*.module.mjs', { cwd: folder });
    assert.ok(modules.length > 50);
    for (const module of modules) {
      const [, file] =
        /^import '@mantine\/core\/(styles\/\w+\.layer\.css)'/.exec(transform('', join(folder, module)).code) ?? [];
      assert.ok(file !== undefined && existsSync(join(folder, file)), module);
    }
    assert.equal(transform('', join(folder, 'esm/components/Tabs/Tabs.mjs')), undefined);
  });

  it('have the ones without component in the full file, all in a cascade layer', () => {
    const shared: string = transform(readFileSync(path, 'utf8'), path);
    assert.match(shared, /--mantine-color-scheme/);
    assert.ok(!/\.m_[0-9a-f]+/.test(shared));
    assert.equal(shared.match(/^@layer mantine \{/gm)?.length, 3);
  });
});
