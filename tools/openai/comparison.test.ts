import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compareProperties } from './compare.ts';
import { compareWithOpenAi, findUnexplained, readSpecification, storedSpecification } from './comparison.ts';
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
