import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nameComponents } from './name-components.ts';
import { operationId } from './operation-id.ts';

describe('operationId', () => {
  it('names the action and the resource', () => {
    for (const [method, url, expected] of [
      ['POST', '/v1/chat/completions', 'createChatCompletion'],
      ['GET', '/v1/files', 'listFiles'],
      ['GET', '/v1/files/:file_id', 'getFile'],
      ['DELETE', '/v1/files/:file_id', 'deleteFile'],
      ['DELETE', '/v1/files', 'deleteFiles'],
      ['GET', '/v1/files/:file_id/content', 'getFileContent'],
      ['POST', '/v1/batches/:batch_id/cancel', 'cancelBatch'],
      ['PUT', '/v1/guardrail-policies/:policy_id', 'setGuardrailPolicy'],
      ['GET', '/v1/admin/cache/stats', 'getAdminCacheStats'],
    ] as const) {
      assert.equal(operationId(method, url), expected);
    }
  });
});

interface Described {
  paths: Record<string, object>;
  components?: { schemas: object };
}

describe('nameComponents', () => {
  const operation = (schema: object) => ({
    get: { responses: { 200: { content: { 'application/json': { schema } } } } },
  });

  it('names the type of enums', () => {
    const text = { enum: ['a', 'b'], description: 'd' };
    const data = { type: 'object', default: { enum: ['a'] }, properties: { enum: { type: 'string', enum: ['c'] } } };
    const paths = { '/a': operation(text), '/b': operation(data), '/c': operation({ enum: ['a', 1] }) };
    const described: Described = nameComponents({ paths });
    const schemas = Object.values(described.paths as typeof paths).map(
      ({ get }) => get.responses[200].content['application/json'].schema,
    );
    assert.deepEqual(schemas, [{ ...text, type: 'string' }, data, { enum: ['a', 1] }]);
  });

  it('moves named schemas to the components, also nested ones, and leaves examples alone', () => {
    const inner = { title: 'Inner', type: 'string' };
    const outer = {
      title: 'Outer',
      type: 'object',
      properties: { a: inner },
      examples: [{ title: 'Book', type: 'x' }],
    };
    const named: Described = { paths: { '/a': operation(outer), '/b': operation(inner) } };
    const { components, paths } = nameComponents(named);
    assert.deepEqual(components?.schemas, {
      Inner: { type: 'string' },
      Outer: {
        type: 'object',
        properties: { a: { $ref: '#/components/schemas/Inner' } },
        examples: [{ title: 'Book', type: 'x' }],
      },
    });
    assert.match(JSON.stringify(paths['/b']), /#\/components\/schemas\/Inner/);
  });

  it('throws for two schemas of one name', () => {
    const paths = { '/a': operation({ title: 'A', type: 'string' }), '/b': operation({ title: 'A', type: 'object' }) };
    assert.throws(() => nameComponents({ paths }), /two schemas have the name 'A'/);
  });
});
