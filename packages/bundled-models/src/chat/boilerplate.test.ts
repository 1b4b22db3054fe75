import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isBoilerplate } from './boilerplate.ts';

const BOILERPLATE = {
  'contents with leaders': `1 Start ${'. '.repeat(20)} 3 1.1 First steps${'. '.repeat(18)}4`,
  'contents with dots in a row': 'Start......................3\nUse........................12',
  'contents as links': '- [Start](#start)\n- [Use](#use)\n  - [Save](#save)\n1. [Load](#load)',
  index: 'access rights, 12, 40-45\naccounts 7, 9\nattachments, 3, 101\nbackup, 55–57, 60',
  badges:
    '[![build](https://a.example/b.svg)](https://a.example)\n![licence](https://a.example/l.svg)\n<img src="c.svg">\n<br>',
  'links alone': 'https://a.example/1\nhttps://a.example/2\n<https://a.example/3>',
  'a title page': 'Ledger Manual\nVersion 3.3\nJohn Doe\nCopyright © 2003-2020',
};
const TEXTS = {
  'steps with links': '1. Open the [page](https://a.example).\n2. Read [this](#b) first.\n3. Press [save](#c).',
  'a price list': 'Apples, 12\nPears, 7\nPlums, 3',
  'rows of numbers': '| March | 12, 13, 14 |\n| April | 1, 2, 3 |\n| May | 4, 5 |',
  'an ellipsis': 'Wait a moment ... then go on.',
  'a sentence about a licence': 'The program is licensed under the MIT licence. You may copy it.',
  'two links': '[a](b)\n[c](d)',
};

describe('isBoilerplate', () => {
  for (const [name, text] of Object.entries(BOILERPLATE))
    it(`recognises ${name}`, () => assert.ok(isBoilerplate(text)));
  for (const [name, text] of Object.entries(TEXTS)) it(`keeps ${name}`, () => assert.ok(!isBoilerplate(text)));
  it('takes linear time for lines that nearly match', () => {
    for (const part of ['http://', '[a](', '![', '<a', '. ', 'a, 1', '[![a](b)', '<a>', '1, ']) {
      assert.equal(typeof isBoilerplate(part.repeat(20_000)), 'boolean');
    }
  });
});
