import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readTimes, timesKey, writeTimes } from './calibration-store.ts';

describe('times that are kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-times-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const times = (milliseconds: number) => [{ threads: 1, sequences: 1, tokens: 1, milliseconds }];

  it('are found again under their key, beside others, in a file that is there whole', async () => {
    const path = join(folder, 'new', 'calibration.json');
    assert.equal(await readTimes(path, 'a'), null);
    await writeTimes(path, 'a', times(1));
    await writeTimes(path, 'b', times(2));
    await writeTimes(path, 'a', times(3));
    assert.deepEqual(await readTimes(path, 'a'), times(3));
    assert.deepEqual(await readTimes(path, 'b'), times(2));
    assert.equal(await readTimes(path, 'c'), null);
    assert.deepEqual(readdirSync(join(folder, 'new')), ['calibration.json']);
  });
  it('of a damaged file are none, and it is written anew', async () => {
    const path = join(folder, 'damaged.json');
    await writeTimes(path, 'a', times(1));
    const good = readFileSync(path, 'utf8');
    const damaged = [
      '',
      '{',
      'null',
      '[]',
      '{"version":1}',
      good.slice(0, -9),
      good.replace('"tokens":1', '"tokens":-1'),
    ];
    damaged.push(good.replace('"version":1', '"version":0'), good.replace('"milliseconds":1', '"milliseconds":"1"'));
    for (const text of damaged) {
      writeFileSync(path, text);
      assert.equal(await readTimes(path, 'a'), null, text);
      await writeTimes(path, 'a', times(2));
      assert.deepEqual(await readTimes(path, 'a'), times(2));
    }
  });
  it('are those of the last models only', async () => {
    const path = join(folder, 'many.json');
    for (let i = 0; i < 40; i += 1) await writeTimes(path, `model ${i}`, times(i + 1));
    assert.equal(await readTimes(path, 'model 0'), null);
    assert.deepEqual(await readTimes(path, 'model 39'), times(40));
    assert.ok(readFileSync(path, 'utf8').length < 4_000);
  });
  it('are another model of the same length, another runtime or other threads under other keys', async () => {
    const [one, two] = [join(folder, 'one.gguf'), join(folder, 'two.gguf')];
    writeFileSync(one, 'one');
    writeFileSync(two, 'two');
    const keys = [
      await timesKey(one, 'v1', [1, 2]),
      await timesKey(two, 'v1', [1, 2]),
      await timesKey(one, 'v2', [1, 2]),
      await timesKey(one, 'v1', [2]),
    ];
    assert.equal(new Set(keys).size, 4);
    assert.equal(await timesKey(one, 'v1', [1, 2]), keys[0]);
  });
});
