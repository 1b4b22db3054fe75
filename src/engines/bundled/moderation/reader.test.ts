import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fold } from './fold.ts';
import { Moderator } from './reader.ts';
import { Sections } from './sections.ts';
import { tokenize } from './tokens.ts';
import { Vocabulary } from './vocabulary.ts';

const MODELS = new URL('../../../../models/', import.meta.url);
const file = readFileSync(new URL('quire-moderation-1.bin', MODELS));

interface Expected {
  text: string;
  folded: string;
  ids: number[];
  unknown: string[];
  logits: (number | null)[];
  scores: number[];
}

const expected: Expected[] = JSON.parse(readFileSync(new URL('quire-moderation-1.answers.json', MODELS), 'utf8'));

describe('the reader of the moderation model', () => {
  const sections = new Sections(file);
  const vocabulary = new Vocabulary(sections.unsigned(sections.head.words));
  const moderator = new Moderator(file);

  it('gives the answers that were written down with the weights', () => {
    assert.ok(expected.length > 30);
    for (const { text, folded, ids, unknown, logits, scores } of expected) {
      assert.equal(fold(text), folded);
      assert.deepEqual(tokenize(text, vocabulary), { ids, unknown }, text);
      const read = moderator.logits(text);
      const assessed = moderator.assess(text);
      assert.equal(assessed.tokens, ids.length);
      assert.deepEqual(assessed.scores, moderator.score(text));
      for (const [i, logit] of logits.entries()) {
        if (logit === null) assert.equal(read[i], -Infinity);
        else assert.ok(Math.abs(read[i]! - logit) <= 1e-4, `${text}: ${read[i]} for ${logit}`);
        assert.ok(Math.abs(assessed.scores[i]! - scores[i]!) <= 1e-5, `${text}: ${assessed.scores[i]}`);
      }
    }
  });

  it('gives the same answers in any order: what it has met does not change what it meets', () => {
    const fresh = new Moderator(file);
    for (const { text } of expected.toReversed()) assert.deepEqual(fresh.logits(text), moderator.logits(text), text);
  });

  it('refuses a file that is none, is cut short or has another head', () => {
    assert.throws(() => new Moderator(new Uint8Array(0)), /not a moderation model/);
    assert.throws(() => new Moderator(Buffer.from('GGUF and more')), /not a moderation model/);
    assert.throws(() => new Moderator(file.subarray(0, file.length - 1)), /cut short/);
    const head = Buffer.from('{"words":1}');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(head.length);
    assert.throws(() => new Moderator(Buffer.concat([Buffer.from('QMOD'), length, head])), /another head/);
  });
});
