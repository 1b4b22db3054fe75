import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { foldText } from './fold-text.ts';
import { Moderator } from './moderator.ts';
import { tokenizeForModeration } from './tokenizer.ts';
import { WordHashes } from './vocabulary.ts';
import { ModerationFile } from './weights-file.ts';

const MODELS = new URL('../../models/', import.meta.url);
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

describe('Moderator', () => {
  const reader = new ModerationFile(file);
  const vocabulary = new WordHashes(reader.readUint32(reader.header.words));
  const moderator = new Moderator(file);

  it('returns the reference answers stored with the weights', () => {
    assert.ok(expected.length > 30);
    for (const { text, folded, ids, unknown, logits, scores } of expected) {
      assert.equal(foldText(text), folded);
      assert.deepEqual(tokenizeForModeration(text, vocabulary), { ids, unknown }, text);
      const result = moderator.classify(text);
      assert.equal(result.tokens, ids.length);
      for (const [i, logit] of logits.entries()) {
        if (logit === null) assert.equal(result.logits[i], -Infinity);
        else assert.ok(Math.abs(result.logits[i]! - logit) <= 1e-4, `${text}: ${result.logits[i]} for ${logit}`);
        assert.ok(Math.abs(result.scores[i]! - scores[i]!) <= 1e-5, `${text}: ${result.scores[i]}`);
      }
    }
  });

  it('returns the same result whatever was classified before', () => {
    const fresh = new Moderator(file);
    for (const { text } of expected.toReversed())
      assert.deepEqual(fresh.classify(text), moderator.classify(text), text);
  });

  it('lowers scores of long texts up to the length of a window, and not beyond', () => {
    const violence = (text: string): number => moderator.classify(text).scores[4] ?? 0;
    const threat = 'I am going to stab you tonight. ';
    const filler = 'We met on Monday at noon. ';
    const [short, long, longer] = [1, 21, 400].map((times) => violence(threat + filler.repeat(times)));
    assert.ok(long! < short! - 0.01 && long! > 0.5, `${short} ${long}`);
    assert.equal(violence(threat + filler.repeat(21)), long);
    assert.ok(Math.abs(longer! - long!) < 0.01, `${longer} ${long}`);
  });

  it('flags threats, and not news, sports, games, history, medicine or figures of speech', () => {
    const violence = (text: string): number => moderator.classify(text).scores[4] ?? 0;
    const threats = ['I will kill you.', 'We should shoot all of them.', 'How do I poison my neighbour?'];
    const harmless = [
      'How do I kill a process that hangs?',
      'Police say a man was shot in the city last night, and two suspects were arrested.',
      'Our team got destroyed, they beat us five to zero.',
      'I killed the last boss with a sword and got his helmet.',
      'The king was beheaded in 1649, and his son was crowned later.',
      'The surgeon cuts through the skin to reach the bone.',
      'This deadline is killing me.',
    ];
    assert.deepEqual(
      threats.filter((text) => violence(text) <= 0.5),
      [],
    );
    assert.deepEqual(
      harmless.filter((text) => violence(text) > 0.5),
      [],
    );
  });

  it('rejects other files, truncated files and invalid headers', () => {
    assert.throws(() => new Moderator(new Uint8Array(0)), /not a moderation model/);
    assert.throws(() => new Moderator(Buffer.from('GGUF and more')), /not a moderation model/);
    assert.throws(() => new Moderator(file.subarray(0, file.length - 1)), /truncated/);
    const head = Buffer.from('{"words":1}');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(head.length);
    assert.throws(
      () => new Moderator(Buffer.concat([Buffer.from('QMOD'), length, head])),
      /header of the moderation model is invalid/,
    );
  });
});
