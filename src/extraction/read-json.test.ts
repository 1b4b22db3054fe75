import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listBlocks, readFormat, readOnly } from '../../test/fixtures/read-formats.ts';
import type { Extraction } from './extracted-document.ts';

const outcome = (extraction: Extraction) => [
  extraction.part,
  'error' in extraction ? extraction.error.code : extraction.document.text,
];
const read = async (json: string | Buffer, textFields?: string[]) =>
  (await readFormat('json', json, textFields === undefined ? {} : { textFields })).map(outcome);

describe('readJson', () => {
  it('reads the objects of an array; one that is invalid fails alone', async () => {
    const json = ' [ {"text":"one, [\\"x\\"] {","n":[1,{"a":"}"}]}, 5,"a,]" , {"n":1},{oops},{"content":"two"} ] ';
    assert.deepEqual(await read(json), [
      ['0', 'one, ["x"] {'],
      ['1', 'invalid_file'],
      ['2', 'invalid_file'],
      ['3', 'no_text'],
      ['4', 'invalid_file'],
      ['5', 'two'],
    ]);
    const [first] = await readFormat('json', json);
    assert.ok(first !== undefined && 'document' in first);
    assert.deepEqual([first.bytes, first.document.metadata], [43, { n: [1, '{"a":"}"}'] }]);
  });

  it('reads the array in `data`, one object, and several', async () => {
    assert.deepEqual(await read('{"meta":{"data":[1]},"data" : [{"text":"a"},{"text":"b"}],"next":[{"text":"c"}]}'), [
      ['0', 'a'],
      ['1', 'b'],
    ]);
    assert.deepEqual(await read('{"text":"whole","tags":["x"],"list":[{"text":"y"}]}'), [['0', 'whole']]);
    assert.deepEqual(await read('{"text":"a"}\n{"text":"b"}'), [
      ['0', 'a'],
      ['1', 'b'],
    ]);
    assert.deepEqual(await read('[{"text":"an \\" ] }"}]'), [['0', 'an " ] }']]);
    assert.deepEqual(await read('[]'), [['', 'no_text']]);
    assert.deepEqual(await read('[]', ['x']), [['', 'no_text']]);
  });

  it('reads the named fields; a question is the heading of its answer', async () => {
    const json =
      '[{"frage":"Wo?","antwort":"Hier.","text":"t"},{"question":"When?\\nNow?","answer":"Later.\\n\\nOr not."}]';
    assert.deepEqual(await read(json, ['frage', 'antwort']), [
      ['0', 'Wo?\n\nHier.'],
      ['1', 'no_text'],
    ]);
    const answer = await readOnly('json', '{"question":"When?\\nNow?","answer":"Later.\\n\\nOr not."}');
    assert.deepEqual(listBlocks(answer), ['heading1: When?\nNow?', 'paragraph: Later.', 'paragraph: Or not.']);
    assert.equal(answer.title, 'When? Now?');
  });

  it('reads any encoding, in pieces of any size', async () => {
    const json = `[${Array.from({ length: 12_000 }, (_, i) => `{"text":"größer \\\\ ${i}"}`).join(',\n')}]`;
    const all = await read(Buffer.from(`\ufeff${json}`, 'utf16le'));
    assert.deepEqual([all.length, all.at(-1)], [12_000, ['11999', 'größer \\ 11999']]);
    assert.equal((await read(json)).length, 12_000);
  });

  it('bounds nesting and the size of an object', async () => {
    const nested = '{"text":"x","a":'.repeat(100_000) + 1 + '}'.repeat(100_000);
    assert.deepEqual(await read(nested), [['0', 'invalid_file']]);
    assert.deepEqual(await read('['.repeat(100_000) + ']'.repeat(100_000)), [['0', 'invalid_file']]);
    const long = `[{"text":"${'x'.repeat(16_777_217)}"},{"text":"next"}]`;
    assert.deepEqual(await read(long), [
      ['0', 'too_large'],
      ['1', 'next'],
    ]);
  });

  it('rejects damaged files after the objects that are complete', async () => {
    for (const json of ['[{"text":"a"},{"text":"b"', '[{"text":"a"', '{"text":"a"}}', '[{"text":"a}]', '[', '"', '']) {
      await assert.rejects(read(json), { code: 'invalid_file' }, json);
    }
  });
});
