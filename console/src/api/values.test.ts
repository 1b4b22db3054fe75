import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { writeValues } from '../../api-values.js';
import { BATCH_LIMITS, CHUNK_SIZE, KEY_SCOPES, MODERATION_CATEGORIES, STOP_TEXTS } from './values.ts';

const description = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));

describe('values of the API description', () => {
  it('are lists, limits, bounds and names of properties', () => {
    assert.ok(KEY_SCOPES.includes('admin') && MODERATION_CATEGORIES.includes('self_harm'));
    assert.deepEqual(CHUNK_SIZE, { min: 16, max: 2048 });
    // Of an array in `anyOf`; a `minLength` of 1 is left to `required`.
    assert.deepEqual(STOP_TEXTS, { maxLength: 4096, maxItems: 4 });
    assert.equal(BATCH_LIMITS.max_lines, 50_000);
  });

  it('has a new scope of the description, and no build without a value that the console needs', () => {
    const changed = structuredClone(description);
    const { CreateKey, CreateBatch } = changed.components.schemas;
    CreateKey.properties.scopes.items.enum.push('agents');
    assert.match(writeValues(changed)['values.ts'], /KEY_SCOPES = \[.*"agents"\]/);
    delete CreateBatch.properties.input_file_id['x-limits'];
    assert.throws(() => writeValues(changed), /CreateBatch input_file_id x-limits/);
  });
});
