import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { countCoverage, measureSpecification, storedCoverage } from '../conformance.ts';
import { compareProperties } from './compare.ts';
import { compareWithOpenAi, findUnexplained, readSpecification, storedSpecification } from './comparison.ts';
import { coverageScore, measureCoverage } from './coverage.ts';
import { decodeProperties, encodeProperties, listProperties, type Schema } from './properties.ts';

/** OpenAI's specification lies beside the checkout of the developers, and is not part of it. */
const SPEC = fileURLToPath(new URL('../../../shared/specs/openai-openapi.yaml.gz', import.meta.url));

const PARTS: Schema = {
  anyOf: [
    {
      type: 'object',
      required: ['type'],
      properties: { type: { enum: ['text'] }, text: { $ref: '#/components/Text' } },
    },
    { type: 'object', required: ['type'], properties: { type: { const: 'image' }, url: { type: 'string' } } },
  ],
};
const COMPONENTS = { Text: { allOf: [{ type: 'string' }, { nullable: true }] } };
const THEIRS: Schema = {
  type: 'object',
  required: ['content'],
  properties: { content: { type: 'array', items: PARTS }, mode: { enum: ['a', 'b', null] } },
};

describe('the API description', () => {
  it('differs from the specification of OpenAI only where a reason is given', () => {
    assert.deepEqual(findUnexplained(compareWithOpenAi(storedSpecification())), []);
  });

  it('is compared with the facts of the present specification', { skip: !existsSync(SPEC) }, () => {
    assert.deepEqual(storedSpecification(), readSpecification(SPEC));
  });

  it('has the stored coverage of the present specification', { skip: !existsSync(SPEC) }, () => {
    assert.deepEqual(storedCoverage(), countCoverage(measureSpecification(SPEC)), 'npm run conformance -- --write');
  });
});

describe('measureCoverage', () => {
  const describeApi = (prefix: string, properties: Record<string, Schema>) => ({
    paths: {
      [`${prefix}/files`]: {
        post: {
          tags: ['Files'],
          requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
          responses: {},
        },
      },
      [`${prefix === '' ? '/files/{id}' : '/v1/other'}`]: { get: { tags: ['Files'], responses: {} } },
    },
    components: { schemas: {} },
  });
  const theirs = describeApi('', {
    purpose: { enum: ['a', 'b'] },
    after: { type: 'object', properties: { anchor: { type: 'string' }, seconds: { type: 'integer' } } },
    name: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
  });

  it('counts a missing object once, and properties that clients notice', () => {
    const ours = describeApi('/v1', {
      purpose: { enum: ['a'] },
      name: { type: ['string', 'null'] },
      tags: { type: 'array', items: { type: 'string' } },
      own: { type: 'string' },
    });
    const [files] = measureCoverage(theirs, ours, ['Files']);
    assert.deepEqual(files, {
      ...{ group: 'Files', operations: 1, theirOperations: 2, properties: 6 },
      missing: ['POST /v1/files request after'],
      different: ['POST /v1/files request purpose'],
      // Null is accepted besides.
      differentByOgx: 2,
    });
  });

  it('scores the share of properties without a problem', () => {
    assert.deepEqual([coverageScore(50, 1), coverageScore(0, 0), coverageScore(1, 2)], [98, 0, 0]);
  });
});

describe('listProperties', () => {
  const all = listProperties(THEIRS, COMPONENTS);

  it('lists properties of every depth through references and unions', () => {
    assert.deepEqual(encodeProperties(all), {
      '': 'required object',
      content: 'required array',
      'content[]': 'required object',
      'content[].type': 'required string: image, text',
      'content[].text': 'string|null',
      'content[].url': 'string',
      mode: 'string|null: a, b',
    });
    assert.deepEqual(decodeProperties(encodeProperties(all)), all);
  });

  it('leaves the properties of variants out that the other side lacks', () => {
    const ours: Schema = {
      properties: { content: { items: { properties: { type: { enum: ['text'] }, note: { type: 'string' } } } } },
    };
    const own = listProperties(ours, {});
    const guided = listProperties(THEIRS, COMPONENTS, own);
    assert.ok(!guided.has('content[].url'));
    assert.deepEqual(
      compareProperties(guided, own, 'request').map(({ path, kind }) => `${path}: ${kind}`),
      [
        'content[].type: not accepted: image',
        'content[].text: OpenAI only',
        'mode: OpenAI only',
        'content[].note: Quire only',
      ],
    );
    const changed = listProperties({ properties: { content: {}, mode: { enum: ['a', 'c'] } } }, {});
    assert.deepEqual(
      compareProperties(changed, all, 'response').map(({ kind }) => kind),
      ['can be null', 'additional: b'],
    );
  });
});
