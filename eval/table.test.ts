import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chance, count, countChanges, kept, markdown, type Sheet, share, withMean } from './table.ts';

const sheet = (queries: number, ...cells: (number | null)[]): Sheet => ({
  title: 'Ranking',
  subject: 'collection',
  columns: [count('queries'), share('BM25'), share('hybrid')],
  rows: [{ name: 'cacm', cells: [queries, ...cells] }],
});

describe('a table of figures', () => {
  it('is Markdown, with the digits of its columns, and a dash where there is no figure', () => {
    assert.equal(
      markdown(sheet(52, 0.4761, Number.NaN)),
      '**Ranking**\n\n| collection | queries | BM25 | hybrid |\n| --- | ---: | ---: | ---: |\n| cacm | 52 | 0.476 | - |',
    );
  });

  it('shows what an earlier run had where that differs in the digits shown, and nowhere else', () => {
    const text = markdown(sheet(52, 0.4761, 0.5), [sheet(50, 0.4759, 0.49)]);
    assert.match(text, /\| cacm \| 52 \| 0\.476 \| 0\.500 \(was 0\.490\) \|/);
    assert.equal(countChanges(sheet(52, 0.4761, 0.5), [sheet(50, 0.4759, 0.49)]), 1);
    assert.equal(countChanges(sheet(52, 0.4761, 0.5), [sheet(50, 0.4759, 0.5)]), 0);
    assert.equal(countChanges(sheet(52, 0.4761, 0.5), []), 0);
  });

  it('does not differ from its own file, whose figures have fewer digits', () => {
    const figure = 0.765497;
    assert.equal(figure.toFixed(3), '0.765');
    assert.equal(countChanges(sheet(52, figure), [sheet(52, kept(figure))]), 0);
    assert.equal(countChanges(sheet(52, 0.7654999), [sheet(52, kept(0.7654999))]), 0);
  });

  it('takes an earlier run from JSON, where what was no number is null, and one without the column', () => {
    const before = JSON.parse(JSON.stringify(sheet(52, Number.NaN, 0.5))) as Sheet;
    assert.match(markdown(sheet(52, 0.4, 0.5), [before]), /\| 0\.400 \(was -\) \| 0\.500 \|/);
    const narrow = { ...before, columns: before.columns.slice(0, 1) };
    assert.match(markdown(sheet(52, 0.4, 0.5), [narrow]), /\| 0\.400 \| 0\.500 \|/);
  });

  it('has the mean of its first rows under them, but not of counts and of what may be chance', () => {
    const row = (name: string, ...cells: number[]) => ({ name, cells });
    const rows = [row('a', 10, 0.2, 0.01), row('b', 30, 0.4, 0.5), row('c', 5, 0.9, 0.5)];
    const columns = [count('queries'), share('hybrid'), chance('p')];
    const whole = withMean({ title: 'Ranking', subject: '', columns, rows }, 2);
    assert.deepEqual(
      whole.rows.map(({ name }) => name),
      ['a', 'b', 'mean of the 2', 'c'],
    );
    assert.match(markdown(whole), /\| mean of the 2 \| - \| 0\.300 \| - \|/);
  });
});
