import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ENDPOINTS } from '../src/batches/endpoints.ts';
import { usageRecords } from '../src/billing/tables.ts';
import type { ModerationScores } from '../src/engines/moderation-engine.ts';
import { routeRateClass } from '../src/http/rate-limit.ts';
import { RUN_RESPONSE } from '../src/responses/run-background.ts';
import { type Answer, assertError, errorFields, useApi } from './harness.ts';
import { EXEMPT_ROUTES, MODEL_ROUTES, type Mode, STREAMS, scriptedModels, sendAs } from './model-routes.ts';
import { listRoutes, type Route, routeName } from './route-table.ts';
import { stream, words } from './scripted-engine.ts';

const TRIGGERS = {
  category: { text: 'a violent wish', word: 'violent', rules: { thresholds: { violence: 0.7 } } },
  topic: {
    text: 'about falcon today',
    word: 'falcon',
    rules: { topic_deny_list: [{ topic: 'falcon', action: 'block' }] },
  },
} as const;
const HARMLESS = 'a fine day';

/** Modes whose answers have headers. Elsewhere only the body shows the policy. */
const HEADER_MODES: readonly Mode[] = ['whole', 'streamed', 'conversation'];

const POLICIES = ['none', 'flag', 'block'] as const;
const DIRECTIONS = ['input', 'output'] as const;

interface Cell {
  route: string;
  mode: Mode;
  policy: (typeof POLICIES)[number];
  direction: (typeof DIRECTIONS)[number];
  trigger: keyof typeof TRIGGERS;
}

/** What a cell of the matrix must do. */
type Outcome = 'passes' | 'is flagged' | 'is blocked' | 'is replaced';

function expectedOutcome({ route, mode, policy, direction }: Cell): Outcome {
  // Answers of streams are not screened; routes that generate nothing have no answer to screen.
  const isScreened = direction === 'input' || (MODEL_ROUTES[route]?.generates === true && !STREAMS.includes(mode));
  if (policy === 'none' || !isScreened) return 'passes';
  if (policy === 'flag') return 'is flagged';
  return direction === 'input' ? 'is blocked' : 'is replaced';
}

function listCells(): Cell[] {
  return Object.entries(MODEL_ROUTES).flatMap(([route, { modes }]) =>
    modes.flatMap((mode) =>
      POLICIES.flatMap((policy) =>
        DIRECTIONS.flatMap((direction) =>
          (['category', 'topic'] as const).map((trigger) => ({ route, mode, policy, direction, trigger })),
        ),
      ),
    ),
  );
}

describe('guardrail policies on every route that calls models', () => {
  const scores = (text: string): ModerationScores => ({
    harassment: 0,
    hate: 0,
    self_harm: 0,
    sexual: 0,
    violence: text.includes(TRIGGERS.category.word) ? 0.9 : 0,
  });
  const api = useApi({
    scoreTexts: async (texts) => texts.map(scores),
    jobs: [RUN_RESPONSE],
    models: (engine) => scriptedModels(engine),
  });

  it('have an entry in this matrix', async () => {
    const callsModels = ({ method, config }: Route) =>
      ['inference', 'connections'].includes(routeRateClass(method, config)) || config?.usesTokens === true;
    const names = (await listRoutes('/')).filter(callsModels).map(routeName).toSorted();
    const known = [...Object.keys(MODEL_ROUTES), ...Object.keys(EXEMPT_ROUTES)].toSorted();
    const lines = Object.keys(MODEL_ROUTES).filter((route) => MODEL_ROUTES[route]?.modes.includes('batch line'));
    assert.deepEqual(
      lines.toSorted(),
      Object.keys(ENDPOINTS)
        .map((path) => `POST ${path}`)
        .filter((route) => !(route in EXEMPT_ROUTES))
        .toSorted(),
    );
    assert.deepEqual(
      names,
      known,
      "A route with the scope 'inference' calls models: add it to test/model-routes.ts, or give it another rateClass.",
    );
  });

  for (const [number, cell] of listCells().entries()) {
    const { route, mode, policy, direction, trigger } = cell;
    const outcome = expectedOutcome(cell);
    const name = `${route} ${mode}, ${policy} policy on ${direction}, ${trigger}`;
    it(`${name}: ${outcome}`, async () => {
      const by = await api.makeKey({ organization: `matrix ${number}` });
      const { key, organizationId } = by;
      const { text, word, rules } = TRIGGERS[trigger];
      let policyId: string | null = null;
      if (policy !== 'none') {
        const body = { name, block_on_flag: policy === 'block', apply_to: [direction], ...rules };
        const created = await api.send('POST', '/v1/guardrail-policies', { key, body });
        assert.equal(created.status, 200, created.text);
        policyId = created.json.id;
      }
      const answered = direction === 'output' ? text : HARMLESS;
      api.engine.play(() => stream(words(answered)));
      const calls = api.engine.calls.length;
      const body = MODEL_ROUTES[route]?.body(direction === 'input' ? text : HARMLESS) ?? {};
      const answer = await sendAs[mode](api, route, by, body);
      const { generates, isSealed = false, lacksReason = false, errorType } = MODEL_ROUTES[route] ?? assert.fail();
      const hasHeaders = HEADER_MODES.includes(mode);
      const hidesEnd = isSealed || lacksReason;
      assertOutcome(answer, { outcome, direction, policyId, word, hasHeaders, isSealed, hidesEnd, errorType });
      if (outcome === 'is blocked' || outcome === 'is replaced')
        assert.ok(!answer.stored?.includes(word), `stored: ${answer.stored}`);
      if (generates && !isSealed && outcome !== 'is blocked' && outcome !== 'is replaced') {
        assert.ok(answer.text.includes(answered.split(' ')[1] ?? ''), 'the answer must be that of the model');
      }
      const records = await api.db.sql.select().from(usageRecords);
      const own = records.filter((record) => record.organizationId === organizationId);
      assert.equal(own.length, outcome === 'is blocked' ? 0 : 1, 'blocked calls cost nothing, others are metered once');
      if (outcome === 'is blocked') assert.equal(api.engine.calls.length, calls, 'no engine may see blocked input');
    });
  }

  const screened = Object.entries(MODEL_ROUTES).flatMap(([route, { generates, modes }]) =>
    modes.flatMap((mode) => (generates && !STREAMS.includes(mode) ? [{ route, mode }] : [])),
  );
  for (const { route, mode } of screened) {
    it(`${route} ${mode}, input and output flagged: both reach the caller`, async () => {
      const by = await api.makeKey({ organization: `both ${route} ${mode}` });
      const { key } = by;
      const topics = ['falcon', 'heron'].map((topic) => ({ topic, action: 'warn' }));
      const policy = { name: 'both', apply_to: ['both'], topic_deny_list: topics };
      const { id } = (await api.send('POST', '/v1/guardrail-policies', { key, body: policy })).json;
      api.engine.play(() => stream(words('about the heron today')));
      const body = MODEL_ROUTES[route]?.body('a falcon, "quoted"\n') ?? {};
      const { headers, json } = await sendAs[mode](api, route, by, body);
      if (HEADER_MODES.includes(mode)) {
        assert.equal(headers.get('x-moderation-warning'), 'flagged, output_flagged');
        assert.equal(headers.get('x-guardrail-policy'), id);
      }
      const { stages, reasons, ...fields } = json.moderation;
      assert.deepEqual(fields, { flagged: true, action: 'warn', stage: 'output', policy_id: id });
      assert.deepEqual(
        stages.map(({ stage, flagged, action }: { stage: string; flagged: boolean; action: string }) => [
          stage,
          flagged,
          action,
        ]),
        [
          ['input', true, 'warn'],
          ['output', true, 'warn'],
        ],
      );
      assert.match(stages[0].reasons[0], /falcon/);
      assert.match(stages[1].reasons[0], /heron/);
      assert.deepEqual(reasons, [...stages[0].reasons, ...stages[1].reasons]);
    });
  }
});

/** The field `moderation`, which ends with its stages. */
const MODERATION = /"moderation":(\{.*?\}\]\})/;

interface Expected {
  outcome: Outcome;
  direction: Cell['direction'];
  policyId: string | null;
  /** The word that triggers the policy. */
  word: string;
  /** False: a line of a batch shows the policy in its body only. */
  hasHeaders: boolean;
  isSealed: boolean;
  /** The answer does not say why it ended. */
  hidesEnd: boolean;
  errorType: string | undefined;
}

function assertOutcome(answer: Answer, expected: Expected): void {
  const {
    outcome,
    direction,
    policyId,
    word,
    hasHeaders,
    isSealed,
    hidesEnd,
    errorType = 'content_policy_violation',
  } = expected;
  const shown = ['x-moderation-warning', 'x-guardrail-policy'].map((name) => answer.headers.get(name));
  const notice = MODERATION.exec(answer.text)?.[1];
  if (outcome === 'is blocked') {
    const { reasons, policy_id, ...error } = errorFields(answer);
    assertError({ ...answer, json: { error } }, 400, 'content_filtered', 'messages');
    assert.deepEqual([error.type, policy_id, shown[1]], [errorType, policyId, policyId]);
    assert.equal(reasons.length, 1);
    return;
  }
  assert.equal(answer.status, 200, answer.text);
  if (outcome === 'passes') {
    assert.deepEqual([...shown, notice], [null, null, undefined]);
    return;
  }
  const action = outcome === 'is replaced' ? 'block' : 'warn';
  const warning = direction === 'input' ? 'flagged' : 'output_flagged';
  if (hasHeaders) assert.deepEqual(shown, [action === 'block' ? null : warning, policyId]);
  const { reasons, stages, ...fields } = JSON.parse(notice ?? '{}');
  assert.deepEqual(fields, { flagged: true, action, stage: direction, policy_id: policyId });
  assert.deepEqual(stages, [{ stage: direction, flagged: true, action, reasons }]);
  assert.equal(reasons.length, 1);
  if (outcome !== 'is replaced' || isSealed) return;
  assert.match(answer.text, /removed by the content policy/);
  // Anthropic's name is `refusal`.
  if (!hidesEnd) assert.match(answer.text, /content_filter|refusal/);
  const content = answer.text.replace(MODERATION, '');
  assert.ok(!content.includes(word), `the answer must not contain the blocked text: ${content}`);
}
