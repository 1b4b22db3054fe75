/**
 * What holds for every `ModerationEngine`, as tests: `src/engines/moderation-engine.ts` says it, this suite holds each
 * runtime to it. The texts are plain, so that the judgements hold for every model that is worth having.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MODERATION_CATEGORIES, type ModerationEngine } from '../src/engines/moderation-engine.ts';
import { ApiError } from '../src/errors.ts';

/** An engine under test. */
export interface ModerationSubject {
  engine: ModerationEngine;
  /** Ends the engine and whatever was started for it. May be called after `engine.close()`. */
  close(): Promise<void>;
}

const HARMLESS = 'The library opens at nine on Saturdays, and the garden behind it an hour later.';
const THREAT = 'I am going to kill you tonight, and nobody will ever find your body.';
const never = new AbortController().signal;

const isUnavailable = (error: unknown) => error instanceof ApiError && error.status === 503;

/** Registers the suite for one implementation; `start` is called once. */
export function moderationConformance(name: string, start: () => Promise<ModerationSubject>): void {
  describe(`a moderation engine: ${name}`, () => {
    let subject = {} as ModerationSubject;
    let engine = {} as ModerationEngine;
    before(async () => {
      subject = await start();
      engine = subject.engine;
    });
    after(() => subject.close?.());

    it('is ready once it has been checked, and says what answers', async () => {
      await engine.check(AbortSignal.timeout(5_000));
      const backend = engine.backend();
      assert.equal(backend.ready, true);
      assert.notEqual(backend.model, '');
    });

    it('gives a score from 0 to 1 of every category to every text, in order, and counts tokens', async () => {
      const { scores, tokens } = await engine.moderate([HARMLESS, THREAT, HARMLESS], never);
      assert.equal(scores.length, 3);
      for (const each of scores) {
        assert.deepEqual(Object.keys(each).toSorted(), [...MODERATION_CATEGORIES]);
        for (const score of Object.values(each)) assert.ok(score >= 0 && score <= 1, String(score));
      }
      assert.deepEqual(scores[0], scores[2]);
      assert.ok(Number.isInteger(tokens) && tokens > 20, String(tokens));
    });

    it('flags a threat at 0.5 and passes what is harmless', async () => {
      const { scores } = await engine.moderate([HARMLESS, THREAT], never);
      assert.ok(Object.values(scores[0]!).every((score) => score < 0.5));
      assert.ok(scores[1]!.violence >= 0.5, JSON.stringify(scores[1]));
    });

    it('scores a text alike alone, beside a thousand others, and beside other calls', async () => {
      const alone = (await engine.moderate([THREAT], never)).scores[0];
      const many = Array.from({ length: 1023 }, (_, i) => `${HARMLESS} ${i}`);
      const [crowd, ...others] = await Promise.all([
        engine.moderate([...many, THREAT], never),
        ...Array.from({ length: 20 }, () => engine.moderate([THREAT], never)),
      ]);
      assert.equal(crowd.scores.length, 1024);
      assert.deepEqual(crowd.scores[1023], alone);
      for (const other of others) assert.deepEqual(other.scores, [alone]);
    });

    it('takes texts in any script, without words, and with odd characters', async () => {
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
      const { scores } = await engine.moderate(texts, never);
      assert.equal(scores.length, texts.length);
    });

    it('finds a threat anywhere in a long text', async () => {
      const filling = `${HARMLESS} `.repeat(3_000);
      const { scores } = await engine.moderate(
        [filling, filling + THREAT + filling, THREAT + filling, filling + THREAT],
        never,
      );
      const [without, ...found] = scores.map(({ violence }) => violence);
      for (const violence of found) assert.ok(violence >= without! + 0.25, `${violence} and ${without} without it`);
    });

    it('throws the reason of an aborted signal, at once, and serves others on', async () => {
      const reason = new Error('the caller has left');
      await assert.rejects(engine.moderate([HARMLESS], AbortSignal.abort(reason)), reason);
      const controller = new AbortController();
      const left = engine.moderate(Array<string>(200).fill(`${HARMLESS} `.repeat(1_000)), controller.signal);
      const other = engine.moderate([THREAT], never);
      controller.abort(reason);
      await assert.rejects(left, reason);
      assert.ok((await other).scores[0]!.violence >= 0.5);
    });

    it('ends what runs with 503 when it is closed, and begins nothing more; closing again is no error', async () => {
      const running = engine.moderate(Array<string>(100).fill(`${HARMLESS} `.repeat(1_000)), never);
      const ended = assert.rejects(running, isUnavailable);
      await engine.close();
      await ended;
      await engine.close();
      assert.equal(engine.backend().ready, false);
      await assert.rejects(engine.moderate([HARMLESS], never), isUnavailable);
      await assert.rejects(engine.check(never));
    });
  });
}
