import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { parseVariables, renderTemplate } from './template.ts';

/** Renders every variable as `<name>`. */
const render = (template: string) => renderTemplate(template, (name) => `<${name}>`);

describe('variables of a prompt', () => {
  const cases: readonly [template: string, names: readonly string[], rendered: string][] = [
    ['', [], ''],
    ['no variable', [], 'no variable'],
    ['{{a}}', ['a'], '<a>'],
    ['{{ a }} and {{\na\t}}', ['a'], '<a> and <a>'],
    ['{{b}}{{a}}{{b}}', ['b', 'a'], '<b><a><b>'],
    ['{{A}} {{a}}', ['A', 'a'], '<A> <a>'],
    ['{{customer-name}} {{_x1}}', ['customer-name', '_x1'], '<customer-name> <_x1>'],
    ['{{größe}} {{名前}} {{имя}}', ['größe', '名前', 'имя'], '<größe> <名前> <имя>'],
    ['{{e\u0301}} {{\u00e9}}', ['\u00e9'], '<\u00e9> <\u00e9>'],
    [`{{${'a'.repeat(64)}}}`, ['a'.repeat(64)], `<${'a'.repeat(64)}>`],
    [`{{${'a'.repeat(65)}}}`, [], `{{${'a'.repeat(65)}}}`],
    ['{{__proto__}} {{constructor}}', ['__proto__', 'constructor'], '<__proto__> <constructor>'],
    // Braces around anything else are text.
    ['{{}} {{ }} {{1}} {{a b}} {{"a"}} {{a.b}}', [], '{{}} {{ }} {{1}} {{a b}} {{"a"}} {{a.b}}'],
    ['{a} {{a} {{a', [], '{a} {{a} {{a'],
    ['{{{a}}} {{{{a}}}}', ['a'], '{<a>} {{<a>}}'],
    ['{"json": {"b": {}}} {{"a": 1}}', [], '{"json": {"b": {}}} {{"a": 1}}'],
    // A backslash escapes; two are one.
    ['\\{{a}}', [], '{{a}}'],
    ['\\\\{{a}}', ['a'], '\\<a>'],
    ['\\\\\\{{a}}', [], '\\{{a}}'],
    ['C:\\dir\\ \\n \\{{}} {{a}}\\', ['a'], 'C:\\dir\\ \\n \\{{}} <a>\\'],
  ];
  for (const [template, names, rendered] of cases) {
    it(`of ${JSON.stringify(template).slice(0, 60)}`, () => {
      assert.deepEqual(parseVariables(template), names);
      assert.equal(render(template), rendered);
    });
  }

  it('are replaced by any text as it is: no pattern of a replacement, no second round', () => {
    for (const text of [...AWKWARD_TEXTS, '$&$1$`', '{{a}}', '\\{{a}}', ''])
      assert.equal(
        renderTemplate('<{{a}}|{{a}}>', () => text),
        `<${text}|${text}>`,
      );
  });

  it('are found in a time that grows with the text only', () => {
    for (const part of ['\\', '{', '{{', '{{a', '{{ ', '{{a ', '\\{{']) {
      const text = part.repeat(200_000);
      assert.deepEqual(parseVariables(text), []);
      assert.equal(render(text), text.replaceAll('\\{{', '\\{{'));
    }
  });
});
