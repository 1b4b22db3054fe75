import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../errors.ts';
import { parseOutputFormat } from './parse-call.ts';

const schema = { type: 'object', properties: { 'a "b"': { type: 'integer' } } };

describe('the output format of a chat request', () => {
  it('a schema beside json_object is enforced like one of json_schema, with its own path', () => {
    assert.deepEqual(parseOutputFormat({ type: 'json_object', schema }), {
      type: 'json_schema',
      name: 'response',
      strict: true,
      schema,
      path: 'response_format.schema',
    });
    assert.deepEqual(parseOutputFormat({ type: 'json_object' }), { type: 'json_object' });
    assert.deepEqual(parseOutputFormat({ type: 'text', schema }), { type: 'text' });
  });

  it('400 missing_required_field for json_schema without a schema', () => {
    for (const [format, param] of [
      [{ type: 'json_schema' as const }, 'response_format.json_schema'],
      [{ type: 'json_schema' as const, schema }, 'response_format.json_schema'],
      [{ type: 'json_schema' as const, json_schema: { name: 'x' } }, 'response_format.json_schema.schema'],
    ] as const) {
      assert.throws(
        () => parseOutputFormat(format),
        (error) => error instanceof ApiError && error.code === 'missing_required_field' && error.param === param,
      );
    }
  });
});
