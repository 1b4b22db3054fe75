import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import { respondWithBody, scripted } from '../../../test/fixtures/scripted-upstream.ts';
import type { Handler } from '../../../test/fixtures/upstream-server.ts';
import { ApiError } from '../../errors.ts';
import { findSchemaViolation } from './schema-validator.ts';
import { completeTexts } from './validate-completion.ts';

const never = new AbortController().signal;
const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false };
const format = { type: 'json_schema', name: 'x', strict: true, schema } as const;
const respondWith = (content: string, reason = 'stop') =>
  respondWithBody(200, { choices: [{ index: 0, message: { content }, finish_reason: reason }] });
const inTurn =
  (...handlers: Handler[]): Handler =>
  (request, response, count) =>
    handlers[Math.min(count, handlers.length - 1)]?.(request, response, count);
const request = chatRequest('Hi', { format, incremental: false });

describe('JSON schema of an upstream', () => {
  it('a complete answer that violates it is requested once more', async (t) => {
    const { engine, posts } = await scripted(t, inTurn(respondWith('{"a":"one"}'), respondWith('{"a":1}')));
    assert.equal((await collectGeneration(engine, request)).choices[0]?.text, '{"a":1}');
    assert.equal(posts().length, 2);
  });

  it('two violations are 500 server_error that says so', async (t) => {
    const { engine, posts } = await scripted(t, respondWith('not JSON'));
    await assert.rejects(
      collectGeneration(engine, request),
      (error) => error instanceof ApiError && error.status === 500 && /does not enforce the schema/.test(error.message),
    );
    assert.equal(posts().length, 2);
  });

  it('a truncated answer and a stream are not validated', async (t) => {
    const { engine, posts } = await scripted(t, respondWith('{"a":', 'length'));
    assert.equal((await collectGeneration(engine, request)).choices[0]?.text, '{"a":');
    await collectGeneration(engine, { ...request, incremental: true });
    assert.equal(posts().length, 2);
  });

  it('enforcesSchemas compares the completion of a probe with its schema', async (t) => {
    const { engine } = await scripted(t, inTurn(respondWith('Hello!'), respondWith('{"k7":"qv-4417"}')));
    assert.equal(await engine.enforcesSchemas?.(never), false);
    assert.equal(await engine.enforcesSchemas?.(never), true);
  });

  it('schemas of every draft are accepted; one that cannot be compiled is not validated', async () => {
    assert.match((await findSchemaViolation('a', schema, ['{"a":1}', '{}'])) ?? '', /required property 'a'/);
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', ...schema };
    assert.match((await findSchemaViolation('a', draft7, ['{}'])) ?? '', /required property 'a'/);
    assert.equal(await findSchemaViolation('a', { $ref: '#/none' }, ['{}']), null);
    const validations = Array.from({ length: 3 }, () => findSchemaViolation('a', schema, ['{"a":1}', 'x']));
    assert.deepEqual(await Promise.all(validations), Array(3).fill('it is not JSON'));
    assert.deepEqual(completeTexts([{ type: 'choice-end', choice: 0, reason: 'tool_calls' }]), []);
  });

  it('patterns that backtrack delay another organization by a slice, and end no validation of others', async (t) => {
    // The thread has started, so that it validates the pattern at once.
    await findSchemaViolation('a', schema, ['{}']);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const ended: string[] = [];
    const validate = async (organization: string, kind: object, text: string) => {
      const violation = await findSchemaViolation(organization, kind, [text]);
      ended.push(`${organization}: ${violation?.trim()}`);
    };
    const backtracking = { type: 'string', pattern: '^(a+)+$' };
    const slow = validate('a', backtracking, JSON.stringify(`${'a'.repeat(40)}!`));
    const others = [
      validate('a', schema, '[]'),
      validate('a', schema, 'x'),
      validate('b', schema, '{}'),
      validate('c', schema, '{"a":1}'),
    ];
    t.mock.timers.tick(500);
    await Promise.all(others);
    assert.deepEqual(ended, [
      'a: must be object',
      "b: must have required property 'a'",
      'c: undefined',
      'a: it is not JSON',
    ]);
    // The thread for long validations may still be starting.
    while (ended.length === others.length) {
      t.mock.timers.tick(5_000);
      await setImmediate();
    }
    await slow;
    assert.equal(ended.at(-1), 'a: undefined');
  });
});
