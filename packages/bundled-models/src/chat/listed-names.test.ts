import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readListedNames } from './listed-names.ts';

describe('readListedNames', () => {
  it('reads three names or more, in order', () => {
    const lists: [string, string[]][] = [
      ['How warm is it in Oslo, Rome and Bern?', ['Oslo', 'Rome', 'Bern']],
      ['Weather for New York, São Paulo, and Lima tomorrow', ['New York', 'São Paulo', 'Lima']],
      ['Compare the weather of Oslo, Rome,\nLima or Bern.', ['Oslo', 'Rome', 'Lima', 'Bern']],
      ["Cities: Oslo, Rome & Lima's weather", ['Oslo', 'Rome', 'Lima']],
    ];
    for (const [question, names] of lists) assert.deepEqual(readListedNames(question), names, question);
  });
  it('reads nothing from two names, several lists, repeated names and other words', () => {
    const questions = [
      'Weather in Trinidad and Tobago?',
      'Weather in Oslo and Rome?',
      'Fly from Oslo, Rome and Bern to Lima, Quito and Paris.',
      'Oslo, Oslo and Oslo',
      'I like apples, pears and plums.',
      'Compare Oslo, Rome and Bern.',
      'On Monday, I fly to Rome.',
    ];
    for (const question of questions) assert.deepEqual(readListedNames(question), [], question);
  });
});
