import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isMutable, listSpecifiers, selectTests } from './select-tests.ts';

describe('selectTests', () => {
  const importers = new Map([
    ['src/a/one.ts', ['src/b/direct.test.ts', 'src/a/other.test.ts', 'src/a/routes.ts', 'src/a/one.test.ts']],
    ['src/a/routes.ts', ['src/a/one.ts', 'src/app.ts']],
    ['src/app.ts', ['test/harness.ts', 'test/architecture.test.ts']],
    ['test/harness.ts', ['test/far.test.ts', 'src/a/routes.test.ts', 'src/a/outage.slow.test.ts']],
  ]);

  it('takes the test with the same name, then those of the folder and those that import it; none that is slow', () => {
    assert.deepEqual(selectTests(importers, 'src/a/one.ts'), [
      'src/a/one.test.ts',
      'src/a/other.test.ts',
      'src/a/routes.test.ts',
      'src/b/direct.test.ts',
    ]);
  });

  it('takes the nearest where none is in the folder or imports the module, and at most six', () => {
    assert.deepEqual(selectTests(importers, 'src/app.ts'), ['test/far.test.ts', 'src/a/routes.test.ts']);
    assert.deepEqual(selectTests(importers, 'src/b/direct.ts'), []);
    const many = Array.from({ length: 9 }, (_, at) => `src/b/${at}.test.ts`);
    assert.deepEqual(selectTests(new Map([['src/a/one.ts', many]]), 'src/a/one.ts'), many.slice(0, 6));
  });

  it('follows imports that run, and files that are named to be started', () => {
    const text = `import type { A,
        B } from './type.ts';
      import { b, type C } from './static.ts';
      import './effect.ts';
      import fs from 'node:fs';
      export { c } from './again.ts';
      await import('./dynamic.ts');
      new Worker(new URL('./thread.ts', import.meta.url));`.replaceAll(/^ {6}/gm, '');
    assert.deepEqual(listSpecifiers(text), ['./static.ts', './effect.ts', './again.ts', './dynamic.ts', './thread.ts']);
  });
});

describe('isMutable', () => {
  it('accepts code of the service and of packages, and refuses tests and declarations', () => {
    const accepted = ['src/a/one.ts', 'packages/grammar/src/schema.ts', 'src/a/schema-notes.ts'];
    const refused = [
      'src/a/one.test.ts',
      'src/a/schema.ts',
      'src/a/tables.ts',
      'test/a.ts',
      'console/src/a.ts',
      'a.md',
    ];
    assert.deepEqual([...accepted, ...refused].filter(isMutable), accepted);
  });
});
