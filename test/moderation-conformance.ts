/**
 * Conformance suite of `ModerationEngine` (`src/engines/moderation-engine.ts`). The texts are unambiguous, so that
 * every usable model passes.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MODERATION_CATEGORIES, type ModerationEngine } from '../src/engines/moderation-engine.ts';
import { never, type Subject, testAbortAndClose, testReadiness, useSubject } from './task-engine.ts';

const HARMLESS = 'The library opens at nine on Saturdays, and the garden behind it an hour later.';
const THREAT = 'I am going to kill you tonight, and nobody will ever find your body.';

/** Registers the suite for one implementation. `start` is called once. */
export function moderationConformance(name: string, start: () => Promise<Subject<ModerationEngine>>): void {
  describe(`a moderation engine: ${name}`, () => {
    const subject = useSubject(start);

    testReadiness(subject);

    it('scores every category of every text from 0 to 1, in order, and counts tokens', async () => {
      const { scores, tokens } = await subject.engine.moderate([HARMLESS, THREAT, HARMLESS], never);
      assert.equal(scores.length, 3);
      for (const each of scores) {
        assert.deepEqual(Object.keys(each).toSorted(), [...MODERATION_CATEGORIES]);
        for (const score of Object.values(each)) assert.ok(score >= 0 && score <= 1, String(score));
      }
      assert.deepEqual(scores[0], scores[2]);
      assert.ok(Number.isInteger(tokens) && tokens > 20, String(tokens));
    });

    it('flags a threat at 0.5 and passes harmless text', async () => {
      const { scores } = await subject.engine.moderate([HARMLESS, THREAT], never);
      assert.ok(Object.values(scores[0]!).every((score) => score < 0.5));
      assert.ok(scores[1]!.violence >= 0.5, JSON.stringify(scores[1]));
    });

    it('scores a text independently of other texts and concurrent calls', async () => {
      const alone = (await subject.engine.moderate([THREAT], never)).scores[0];
      const many = Array.from({ length: 1023 }, (_, i) => `${HARMLESS} ${i}`);
      const [crowd, ...others] = await Promise.all([
        subject.engine.moderate([...many, THREAT], never),
        ...Array.from({ length: 20 }, () => subject.engine.moderate([THREAT], never)),
      ]);
      assert.equal(crowd.scores.length, 1024);
      assert.deepEqual(crowd.scores[1023], alone);
      for (const other of others) assert.deepEqual(other.scores, [alone]);
    });

    it('accepts texts in any script, without words, and with unusual characters', async () => {
      const texts = [
        '\u0000',
        '。',
        'これは日本語です',
        'مرحبا بالعالم',
        '😀'.repeat(40),
        'x'.repeat(100_000),
        '\u200b',
        'a',
      ];
      const { scores } = await subject.engine.moderate(texts, never);
      assert.equal(scores.length, texts.length);
    });

    it('finds a threat anywhere in a long text', async () => {
      const filling = `${HARMLESS} `.repeat(3_000);
      const { scores } = await subject.engine.moderate(
        [filling, filling + THREAT + filling, THREAT + filling, filling + THREAT],
        never,
      );
      const [without, ...found] = scores.map(({ violence }) => violence);
      for (const violence of found) assert.ok(violence >= without! + 0.25, `${violence} and ${without} without it`);
    });

    testAbortAndClose(subject, {
      short: async (signal) => {
        const { scores } = await subject.engine.moderate([THREAT], signal);
        assert.ok(scores[0]!.violence >= 0.5);
      },
      long: (signal) => subject.engine.moderate(Array<string>(200).fill(`${HARMLESS} `.repeat(1_000)), signal),
    });
  });
}
