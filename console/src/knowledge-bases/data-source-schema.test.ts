import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { type FieldSchema, fieldLabel, toConfig, toFormValues } from './data-source-schema.ts';
import { FIELD_TEXTS, translateField } from './field-texts.ts';

describe('the form of a data source', () => {
  const schema: FieldSchema = {
    properties: {
      bucket: { type: 'string' },
      prefix: { type: 'string' },
      metadata: { type: 'object' },
      urls: { type: 'array', items: { type: 'string' } },
      credentials: { properties: { secret: { type: 'string', writeOnly: true }, id: { type: 'string' } } },
    },
  };

  it('leaves empty fields out of a new one; of a stored one it removes them, and keeps secrets', () => {
    const values = { bucket: 'b', prefix: '', metadata: '', urls: [], credentials: { secret: '', id: 'x' } };
    assert.deepEqual(toConfig(schema, values, false), { bucket: 'b', credentials: { id: 'x' } });
    const stored = toConfig(schema, values, true);
    assert.deepEqual(stored, {
      bucket: 'b',
      prefix: null,
      metadata: null,
      urls: null,
      credentials: { secret: '***', id: 'x' },
    });
  });

  it('sends what it shows of a stored config', () => {
    for (const text of AWKWARD_TEXTS) {
      const config = {
        bucket: text,
        prefix: text,
        metadata: { a: text },
        urls: [text],
        credentials: { secret: '***', id: text },
      };
      assert.deepEqual(toConfig(schema, toFormValues(schema, config), true), config);
    }
  });

  it('has every label and description of the API in every language, and no others', () => {
    const { components } = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
    const collectTexts = ({ properties = {} }: FieldSchema): string[] =>
      Object.entries(properties).flatMap(([name, field]) => [
        fieldLabel(name),
        ...(field.description === undefined ? [] : [field.description]),
        ...collectTexts(field),
      ]);
    const configs = components.schemas.DescribedDataSource.anyOf.map(
      ({ properties }: FieldSchema) => properties?.['config'],
    );
    const texts = new Set(configs.flatMap(collectTexts));
    for (const translations of Object.values(FIELD_TEXTS))
      assert.deepEqual(Object.keys(translations).toSorted(), [...texts].toSorted());
    assert.equal(translateField('Max depth', 'de'), 'Höchste Tiefe');
    assert.equal(translateField('Max depth', 'en'), 'Max depth');
  });
});
