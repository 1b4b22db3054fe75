import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const RULES = path('../../deploy/prometheus/quire.rules.yaml');

/** Variables of Grafana with values of their kind. */
const fillIn = (expression: string) => expression.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*');

/** Throws for syntax errors. */
function requirePromql(expression: string): void {
  parser.parse(fillIn(expression)).iterate({
    enter: ({ type, from }) => assert.ok(!type.isError, `${expression} at ${from}`),
  });
}

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
const skip = hasPromtool ? false : 'promtool is not installed';

describe('rules and dashboard', () => {
  it('have valid expressions', () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { expr: string }[] }[] };
    const { panels } = JSON.parse(readFileSync(path('../../deploy/grafana/quire.json'), 'utf8')) as {
      panels: { targets?: { expr: string }[] }[];
    };
    const expressions = [...groups.flatMap(({ rules }) => rules), ...panels.flatMap(({ targets }) => targets ?? [])];
    assert.ok(expressions.length > 50);
    for (const { expr } of expressions) requirePromql(expr);
    assert.throws(() => requirePromql('sum by (x (up)'));
  });

  it('pass promtool, and each alert fires on its reason and on no healthy service', { skip }, () => {
    for (const command of [
      ['check', 'rules', '--lint-fatal', RULES],
      ['test', 'rules', path('alerts.yaml')],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', command, { encoding: 'utf8' });
      assert.equal(status, 0, `${stdout}${stderr}`);
    }
  });
});
