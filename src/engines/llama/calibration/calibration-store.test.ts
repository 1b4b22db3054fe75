import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readStepTimes, stepTimesKey, writeStepTimes } from './calibration-store.ts';

describe('stored step times', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-times-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const times = (milliseconds: number) => [{ threads: 1, slots: 1, tokens: 1, milliseconds }];

  it('are found by key, in a file that is written atomically', async () => {
    const path = join(folder, 'new', 'calibration.json');
    assert.equal(await readStepTimes(path, 'a'), null);
    await writeStepTimes(path, 'a', times(1));
    await writeStepTimes(path, 'b', times(2));
    await writeStepTimes(path, 'a', times(3));
    assert.deepEqual(await readStepTimes(path, 'a'), times(3));
    assert.deepEqual(await readStepTimes(path, 'b'), times(2));
    assert.equal(await readStepTimes(path, 'c'), null);
    assert.deepEqual(readdirSync(join(folder, 'new')), ['calibration.json']);
  });
  it('of a damaged file are ignored, and it is rewritten', async () => {
    const path = join(folder, 'damaged.json');
    await writeStepTimes(path, 'a', times(1));
    const good = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
    const damaged = [
      '',
      '{',
      'null',
      '[]',
      '{"version":2}',
      good.slice(0, -9),
      good.replace('"tokens":1', '"tokens":-1'),
    ];
    damaged.push(good.replace('"version":2', '"version":0'), good.replace('"milliseconds":1', '"milliseconds":"1"'));
    for (const text of damaged) {
      writeFileSync(path, text);
      assert.equal(await readStepTimes(path, 'a'), null, text);
      await writeStepTimes(path, 'a', times(2));
      assert.deepEqual(await readStepTimes(path, 'a'), times(2));
    }
  });
  it('are those of the last models only', async () => {
    const path = join(folder, 'many.json');
    for (let i = 0; i < 40; i += 1) await writeStepTimes(path, `model ${i}`, times(i + 1));
    assert.equal(await readStepTimes(path, 'model 0'), null);
    assert.deepEqual(await readStepTimes(path, 'model 39'), times(40));
    assert.equal(JSON.parse(readFileSync(path, 'utf8')).entries.length, 32);
  });
  it('differ by model, runtime and threads', async () => {
    const [one, two] = [join(folder, 'one.gguf'), join(folder, 'two.gguf')];
    writeFileSync(one, 'one');
    writeFileSync(two, 'two');
    const keys = [
      await stepTimesKey(one, 'v1', [1, 2]),
      await stepTimesKey(two, 'v1', [1, 2]),
      await stepTimesKey(one, 'v2', [1, 2]),
      await stepTimesKey(one, 'v1', [2]),
    ];
    assert.equal(new Set(keys).size, 4);
    assert.equal(await stepTimesKey(one, 'v1', [1, 2]), keys[0]);
  });
});
