import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compareWithOpenAi } from './openai-comparison.ts';

/** OpenAI's specification lies beside the checkout of the developers, and is not part of it. */
const SPEC = fileURLToPath(new URL('../../shared/specs/openai-openapi.yaml.gz', import.meta.url));

describe('the API description', { skip: !existsSync(SPEC) }, () => {
  it('differs from the specification of OpenAI only in properties with a reason', () => {
    const unexplained = compareWithOpenAi(SPEC).filter(({ reason }) => reason === null);
    assert.deepEqual(unexplained, []);
  });
});
