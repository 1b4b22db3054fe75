/** Tests for routes with non-streamed responses: behaviour when the engine fails. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { usageRecords } from '../src/billing/tables.ts';
import type { ServedModel } from '../src/engines/registry.ts';
import { engineUnavailable } from '../src/errors.ts';
import { assertError, bindCatalogue, useApi } from './harness.ts';
import { until } from './spawned-service.ts';

/** The model with an engine; the catalogue model has none. */
const FAILING = 'failing';

/** A route and its request. */
export interface FailingRoute {
  path: string;
  /** Model id of the requests. */
  model: string;
  /** A valid body without its model. */
  body: object;
  /** The model binding with an engine in which every call ends like `run`. */
  engine(run: (signal: AbortSignal) => Promise<never>): Partial<ServedModel>;
}

/** Backend of the scripted engines. */
export const failingBackend = {
  backend: () => ({ engine: 'bundled', model: 'failing', parameters: null, ready: true }) as const,
  check: async () => {},
  close: async () => {},
};

/** Registers the tests of one route. */
export function describeEngineFailures({ path, model, body, engine }: FailingRoute): void {
  describe(`POST ${path}, when the engine does not answer`, () => {
    let run: (signal: AbortSignal) => Promise<never> = async () => {
      throw engineUnavailable('The model failed to answer.', 1);
    };
    const api = useApi({
      models: (generation) => {
        const all = bindCatalogue(generation);
        const given = all.find(({ id }) => id === model) as ServedModel;
        return [...all, { ...given, id: FAILING, ...engine((signal) => run(signal)) }];
      },
    });
    const failing = { ...body, model: FAILING };
    const outcomes = async () => {
      const records = await api.db.sql.select().from(usageRecords);
      return records.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ outcome }) => outcome);
    };

    it('503, recorded as failed', async () => {
      const answer = await api.send('POST', path, { body: failing });
      assertError(answer, 503, 'engine_unavailable');
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.deepEqual(await outcomes(), ['failed']);
    });

    it('a caller who leaves aborts the engine, recorded as cancelled', async () => {
      const begun = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      run = (signal) => {
        begun.resolve();
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            left.resolve();
            reject(signal.reason);
          });
        });
      };
      const controller = new AbortController();
      const asked = fetch(api.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(failing),
        signal: controller.signal,
      });
      await begun.promise;
      controller.abort();
      await assert.rejects(asked);
      await left.promise;
      await until(async () => (await outcomes()).length > 1);
      assert.deepEqual(await outcomes(), ['failed', 'cancelled']);
    });

    it('503 engine_unavailable where nothing is bound to the model', async () => {
      const answer = await api.send('POST', path, { body: { ...body, model } });
      assertError(answer, 503, 'engine_unavailable');
    });
  });
}
