import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseBase, chooseModel } from './choose-sample.ts';

const base = (id: string, document_count: number) => ({ id, name: id, document_count });
const model = (id: string, engine: 'bundled' | 'upstream', ready = true, chat_completion = true) =>
  ({ id, capabilities: { chat_completion }, backend: { engine, ready } }) as Parameters<typeof chooseModel>[0][number];

describe('chooseBase', () => {
  it('chooses the newest usable knowledge base, preferably with documents', () => {
    const bases = [base('new', 0), base('filled', 2), base('old', 9)];
    assert.equal(chooseBase(bases, null)?.id, 'filled');
    assert.equal(chooseBase(bases, ['old', 'new'])?.id, 'old');
    assert.equal(chooseBase(bases, ['new'])?.id, 'new');
    assert.equal(chooseBase(bases, []), null);
  });
});

describe('chooseModel', () => {
  it('chooses a ready, usable chat model that is not bundled', () => {
    const models = [
      model('embed', 'upstream', true, false),
      model('bundled', 'bundled'),
      model('down', 'upstream', false),
      model('up', 'upstream'),
    ];
    assert.equal(chooseModel(models, null), 'up');
    assert.equal(chooseModel(models, ['down', 'bundled', 'embed']), 'bundled');
    assert.equal(chooseModel(models, ['down']), 'down');
    assert.equal(chooseModel([], null), 'general-8b');
    assert.equal(chooseModel([model('a', 'bundled'), model('general-8b', 'bundled')], null), 'general-8b');
    assert.equal(chooseModel([model('general-8b', 'bundled'), model('b', 'upstream')], null), 'b');
  });
});
