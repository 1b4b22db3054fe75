import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/config.ts';
import { parseJobs } from './parse-jobs.ts';

describe('QUIRE_JOBS', () => {
  it('names kinds of jobs with their numbers', () => {
    assert.deepEqual(
      [...parseJobs('ingestion:4, batch : 256')],
      [
        ['ingestion', 4],
        ['batch', 256],
      ],
    );
  });

  it('is unset by default', () => {
    assert.equal(loadConfig({}).jobs, null);
  });

  for (const text of [
    'batch',
    'batch:',
    'batch:0',
    'batch:257',
    'batch:-1',
    'batch:1.5',
    'mail:1',
    'batch:1,',
    'batch=1',
  ]) {
    it(`stops the start for ${text}`, () => {
      assert.throws(
        () => loadConfig({ QUIRE_JOBS: text }),
        /^OperatorError: QUIRE_JOBS has a wrong value: it must be parts such as 'ingestion:4,batch:2'.* It is "/,
      );
    });
  }

  it('rejects a kind that is set twice', () => {
    assert.throws(() => parseJobs('batch:1,ingestion:1,batch:2'), /^Error: must set 'batch' only once$/);
  });
});
