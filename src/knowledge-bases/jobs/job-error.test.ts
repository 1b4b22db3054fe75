import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insufficientCredits } from '../../errors.ts';
import { toJobError } from './job-error.ts';

describe('errors of jobs', () => {
  it('name missing credits, which a retry does not bring, and no other internal error', () => {
    const { code, message, retryable } = toJobError(insufficientCredits('No credits.'));
    assert.deepEqual([code, message, retryable], ['access_denied', 'No credits.', false]);
    assert.equal(toJobError(new Error('secret')).code, 'server_error');
  });
});
