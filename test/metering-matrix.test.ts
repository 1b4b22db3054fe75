/** Usage, credits and token limits of every route that calls models, in every way to call it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { readBalance, setBalance } from '../src/billing/credits.ts';
import { usageRecords } from '../src/billing/tables.ts';
import { RUN_RESPONSE } from '../src/responses/run-background.ts';
import { useApi } from './harness.ts';
import { MODEL_ROUTES, scriptedModels, sendAs } from './model-routes.ts';
import { stream, words } from './scripted-engine.ts';

const BALANCE = 1_000_000;
const TOKENS_PER_MINUTE = 100_000;
const NO_LIMITS = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };

describe('every route that calls models', () => {
  const api = useApi({
    limitClock: () => 0,
    rateLimits: 'requests=100000',
    jobs: [RUN_RESPONSE],
    models: (engine) => scriptedModels(engine),
  });
  const remainingTokens = async (key: string) =>
    Number((await api.send('GET', '/v1/models', { key })).headers.get('x-ratelimit-remaining-tokens'));

  for (const [route, { modes, body, generates }] of Object.entries(MODEL_ROUTES))
    for (const mode of modes) {
      it(`${route}, ${mode}: one usage record, whose tokens and credits are charged`, async () => {
        const limits = { ...NO_LIMITS, tokensPerMinute: TOKENS_PER_MINUTE };
        const by = await api.makeKey({ organization: `metered ${route} ${mode}`, limits });
        await setBalance(api.db.sql, by.organizationId, BALANCE, { actor: 'test', note: null });
        api.engine.play(() => stream(words('one two three', 'stop', 1_000)));
        const { status, text } = await sendAs[mode](api, route, by, body('text'));
        assert.equal(status, 200, text);
        const isOwn = eq(usageRecords.organizationId, by.organizationId);
        const [record, ...others] = await api.db.sql.select().from(usageRecords).where(isOwn);
        assert.ok(record !== undefined && others.length === 0, `${others.length} other records`);
        const { keyId, endpoint, outcome, promptTokens, completionTokens, chargedMicros } = record;
        assert.deepEqual([keyId, endpoint, outcome], [by.id, route.replace('POST ', ''), 'completed']);
        if (generates) assert.deepEqual([promptTokens, completionTokens], [1_000, 3]);
        assert.ok(promptTokens > 0 && chargedMicros > 0);
        assert.equal((await readBalance(api.db.sql, by.organizationId))?.balanceMicros, BALANCE - chargedMicros);
        // Lines of batches count against no limit of the key.
        if (mode !== 'batch line')
          assert.equal(await remainingTokens(by.key), TOKENS_PER_MINUTE - promptTokens - completionTokens);
      });
    }
});
