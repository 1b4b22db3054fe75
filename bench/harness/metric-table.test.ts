import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  appendMeanRow,
  countColumn,
  countDifferences,
  type MetricTable,
  metricColumn,
  pValueColumn,
  renderMetricTable,
  roundMetric,
} from './metric-table.ts';

const table = (queries: number, ...cells: (number | null)[]): MetricTable => ({
  title: 'Ranking',
  subject: 'collection',
  columns: [countColumn('queries'), metricColumn('BM25'), metricColumn('hybrid')],
  rows: [{ name: 'cacm', cells: [queries, ...cells] }],
});

describe('renderMetricTable', () => {
  it('renders Markdown with the digits of each column and a dash for missing values', () => {
    assert.equal(
      renderMetricTable(table(52, 0.4761, Number.NaN)),
      '**Ranking**\n\n| collection | queries | BM25 | hybrid |\n| --- | ---: | ---: | ---: |\n| cacm | 52 | 0.476 | - |',
    );
  });

  it('shows the earlier value only when it differs in the digits shown', () => {
    const text = renderMetricTable(table(52, 0.4761, 0.5), [table(50, 0.4759, 0.49)]);
    assert.match(text, /\| cacm \| 52 \| 0\.476 \| 0\.500 \(was 0\.490\) \|/);
    assert.equal(countDifferences(table(52, 0.4761, 0.5), [table(50, 0.4759, 0.49)]), 1);
    assert.equal(countDifferences(table(52, 0.4761, 0.5), [table(50, 0.4759, 0.5)]), 0);
    assert.equal(countDifferences(table(52, 0.4761, 0.5), []), 0);
  });

  it('does not differ from its own stored run, which has fewer digits', () => {
    const figure = 0.765497;
    assert.equal(figure.toFixed(3), '0.765');
    assert.equal(countDifferences(table(52, figure), [table(52, roundMetric(figure))]), 0);
    assert.equal(countDifferences(table(52, 0.7654999), [table(52, roundMetric(0.7654999))]), 0);
  });

  it('accepts stored runs with null for NaN and without the column', () => {
    const before = JSON.parse(JSON.stringify(table(52, Number.NaN, 0.5))) as MetricTable;
    assert.match(renderMetricTable(table(52, 0.4, 0.5), [before]), /\| 0\.400 \(was -\) \| 0\.500 \|/);
    const narrow = { ...before, columns: before.columns.slice(0, 1) };
    assert.match(renderMetricTable(table(52, 0.4, 0.5), [narrow]), /\| 0\.400 \| 0\.500 \|/);
  });

  it('appends the mean of metrics, but not of counts and p-values', () => {
    const row = (name: string, ...cells: number[]) => ({ name, cells });
    const rows = [row('a', 10, 0.2, 0.01), row('b', 30, 0.4, 0.5), row('c', 5, 0.9, 0.5)];
    const columns = [countColumn('queries'), metricColumn('hybrid'), pValueColumn('p')];
    const whole = appendMeanRow({ title: 'Ranking', subject: '', columns, rows }, 2);
    assert.deepEqual(
      whole.rows.map(({ name }) => name),
      ['a', 'b', 'mean of the 2', 'c'],
    );
    assert.match(renderMetricTable(whole), /\| mean of the 2 \| - \| 0\.300 \| - \|/);
  });
});
