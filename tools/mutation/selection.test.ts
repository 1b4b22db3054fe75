import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCovered, paintRanges, toSpans } from './coverage.ts';
import { findSpecifiers } from './import-graph.ts';
import { findMutants } from './mutants.ts';
import { scoreModule } from './report.ts';
import { publishedModule, sampleMutants } from './selection.ts';

describe('the sample of mutants', () => {
  const text = Array.from({ length: 40 }, (_, i) => `const x${i} = a < ${i};\n`).join('');

  it('is the same for the same seed, also after the lines have moved, and another for another seed', () => {
    const chosen = (source: string, seed: number) =>
      sampleMutants(findMutants('src/a.ts', source), 10, seed).map(({ before }) => before);
    assert.equal(chosen(text, 1).length, 10);
    assert.deepEqual(chosen(`// moved\n\n${text}`, 1), chosen(text, 1));
    assert.notDeepEqual(chosen(text, 2), chosen(text, 1));
  });

  it('counts a file for the innermost published module, and an unpublished one for its folder', () => {
    assert.equal(publishedModule('src/knowledge-bases/ingestion/process-items.ts'), 'knowledge-bases/ingestion');
    assert.equal(publishedModule('src/chunking/atoms.ts'), 'chunking');
    assert.equal(publishedModule('src/engines/registry.ts'), 'engines/registry');
    assert.equal(publishedModule('src/files/store.ts'), 'files');
  });

  it('is scored without equivalent mutants and those that do not compile; a hang is a kill, code that no test runs is a gap', () => {
    const [mutant] = findMutants('src/a.ts', text);
    assert.ok(mutant);
    const results = (['killed', 'timeout', 'survived', 'uncovered', 'rejected', 'equivalent'] as const).map(
      (status) => ({
        mutant,
        status,
        seconds: 0,
      }),
    );
    assert.deepEqual(scoreModule(results), {
      mutants: 6,
      killed: 2,
      survived: 2,
      rejected: 1,
      equivalent: 1,
      share: 0.5,
    });
  });
});

describe('the choice of test files', () => {
  it('follows imports that run, and files that are named to be started', () => {
    const specifiers = findSpecifiers(
      'src/a.ts',
      `import type { A } from './type.ts';
       import { b } from './static.ts';
       export { c } from './again.ts';
       await import('./dynamic.ts');
       new Worker(new URL('./thread.ts', import.meta.url));`,
    );
    assert.deepEqual(specifiers, ['./static.ts', './again.ts', './dynamic.ts', './thread.ts']);
  });

  it('takes the innermost range of coverage that holds an offset', () => {
    const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });
    const spans = toSpans(paintRanges([range(2, 8, 0), range(0, 12, 1), range(4, 6, 3)]));
    assert.deepEqual(spans, [
      [0, 2],
      [4, 6],
      [8, 12],
    ]);
    assert.deepEqual([isCovered(spans, 1), isCovered(spans, 2), isCovered(spans, 5)], [true, false, true]);
    assert.equal(isCovered(undefined, 0), false);
  });
});
