import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ENDPOINTS } from '../src/batches/endpoints.ts';
import { usageRecords } from '../src/billing/tables.ts';
import { EMBEDDING_DIMENSIONS } from '../src/engines/embedding-engine.ts';
import type { ModerationScores } from '../src/engines/moderation-engine.ts';
import { ApiError } from '../src/errors.ts';
import { routeRateClass } from '../src/http/rate-limit.ts';
import { type Call, serviceCaller } from '../src/lib/caller.ts';
import { newId } from '../src/lib/ids.ts';
import { type Answer, assertError, bindCatalogue, errorFields, type TestApi, useApi } from './harness.ts';
import { listRoutes, routeName } from './route-table.ts';
import { stream, words } from './scripted-engine.ts';

/** How the matrix calls a route of inference. */
interface MatrixEntry {
  /** Whether the route generates text: it then streams, and its answers are screened. */
  generates: boolean;
  /** The route does not stream, and its answer is encrypted. */
  isSealed?: true;
  /** Type of the error of blocked input; `content_policy_violation` unless the protocol has another one. */
  errorType?: string;
  /** A request with a text of the caller. */
  body(text: string): object;
}

/** Every route that calls models. A route without an entry fails the first test below. */
const ENTRIES: Record<string, MatrixEntry> = {
  'POST /v1/chat/completions': {
    generates: true,
    body: (text) => ({ model: 'general-8b', messages: [{ role: 'user', content: text }] }),
  },
  'POST /v1/completions': { generates: true, body: (text) => ({ model: 'general-8b', prompt: text }) },
  'POST /v1/responses': { generates: true, body: (text) => ({ model: 'general-8b', input: text }) },
  'POST /v1/responses/compact': {
    generates: true,
    isSealed: true,
    body: (text) => ({ model: 'general-8b', input: text }),
  },
  'POST /v1/messages': {
    generates: true,
    errorType: 'invalid_request_error',
    body: (text) => ({ model: 'general-8b', max_tokens: 64, messages: [{ role: 'user', content: text }] }),
  },
  'POST /api/chat': {
    generates: true,
    body: (text) => ({ model: 'general-8b:latest', stream: false, messages: [{ role: 'user', content: text }] }),
  },
  'POST /api/generate': {
    generates: true,
    body: (text) => ({ model: 'general-8b:latest', stream: false, prompt: text }),
  },
  'POST /api/embed': { generates: false, body: (text) => ({ model: 'embed-large-en-v1.5', input: text }) },
  'POST /api/embeddings': { generates: false, body: (text) => ({ model: 'embed-large-en-v1.5', prompt: text }) },
  'POST /v1/embeddings': { generates: false, body: (text) => ({ model: 'embed-large-en-v1.5', input: text }) },
  'POST /v1/rerank': {
    generates: false,
    body: (text) => ({ model: 'reranker-v2-m3', query: text, documents: ['one', 'two'] }),
  },
};

/** Routes of inference that policies do not apply to, with the reason. */
const EXEMPT: Record<string, string> = {
  'POST /v1/moderations': 'scores texts, and shows no output of a model',
};

const TRIGGERS = {
  category: { text: 'a violent wish', word: 'violent', rules: { thresholds: { violence: 0.7 } } },
  topic: {
    text: 'about falcon today',
    word: 'falcon',
    rules: { topic_deny_list: [{ topic: 'falcon', action: 'block' }] },
  },
} as const;
const HARMLESS = 'a fine day';

const POLICIES = ['none', 'flag', 'block'] as const;
const DIRECTIONS = ['input', 'output'] as const;

/** How a route runs. Lines of batches run without HTTP. */
type Mode = 'whole' | 'streamed' | 'batch line';

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
  const isScreened = direction === 'input' || (ENTRIES[route]?.generates === true && mode !== 'streamed');
  if (policy === 'none' || !isScreened) return 'passes';
  if (policy === 'flag') return 'is flagged';
  return direction === 'input' ? 'is blocked' : 'is replaced';
}

function listCells(): Cell[] {
  return Object.entries(ENTRIES).flatMap(([route, { generates }]) =>
    listModes(route, generates).flatMap((mode) =>
      POLICIES.flatMap((policy) =>
        DIRECTIONS.flatMap((direction) =>
          (['category', 'topic'] as const).map((trigger) => ({ route, mode, policy, direction, trigger })),
        ),
      ),
    ),
  );
}

const pathOf = (route: string) => route.replace('POST ', '');
const isBatchEndpoint = (path: string): path is keyof typeof ENDPOINTS => path in ENDPOINTS;

function listModes(route: string, generates: boolean): Mode[] {
  const modes: Mode[] = generates && !ENTRIES[route]?.isSealed ? ['whole', 'streamed'] : ['whole'];
  return isBatchEndpoint(pathOf(route)) ? [...modes, 'batch line'] : modes;
}

/** Runs a line of a batch. The headers are those of its error, if it fails. */
async function runBatchLine(api: TestApi, route: string, organizationId: string, body: object): Promise<Answer> {
  const path = pathOf(route);
  assert.ok(isBatchEndpoint(path));
  const requestId = newId('request');
  const caller = serviceCaller(organizationId, 'key_matrix');
  const call: Call = { caller, requestId, endpoint: path, priority: 'batch', isBatchLine: true };
  const headers = new Headers({ 'x-request-id': requestId });
  try {
    const text = await ENDPOINTS[path].complete(api.deps, call, { ...body }, new AbortController().signal);
    return { status: 200, headers, text, json: JSON.parse(text) };
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
    const json = error.body();
    return { status: error.status, headers, text: JSON.stringify(json), json };
  }
}

describe('guardrail policies on every route that calls models', () => {
  const scores = (text: string): ModerationScores => ({
    harassment: 0,
    hate: 0,
    self_harm: 0,
    sexual: 0,
    violence: text.includes(TRIGGERS.category.word) ? 0.9 : 0,
  });
  const backend = () => ({ engine: 'bundled' as const, model: 'scripted', parameters: null, ready: true });
  const common = { backend, check: async () => {}, close: async () => {} };
  const rerank = { ...common, rerank: async () => ({ scores: [0.1, 0.2], tokens: 2 }) };
  const embedding = {
    ...common,
    fingerprint: () => 'scripted',
    countTokens: async (texts: readonly string[]) => texts.map(() => 1),
    embed: async () => ({ vectors: [new Float32Array(EMBEDDING_DIMENSIONS)], tokens: 1 }),
  };
  const api = useApi({
    scoreTexts: async (texts) => texts.map(scores),
    models: (engine) =>
      bindCatalogue(engine).map((model) => {
        if (model.id === 'embed-large-en-v1.5') return { ...model, embedding };
        return model.id === 'reranker-v2-m3' ? { ...model, rerank } : model;
      }),
  });

  it('have an entry in this matrix', async () => {
    const routes = (await listRoutes()).filter(({ method, config }) => routeRateClass(method, config) === 'inference');
    const names = routes.map(routeName).toSorted();
    const known = [...Object.keys(ENTRIES), ...Object.keys(EXEMPT)].toSorted();
    assert.deepEqual(
      Object.keys(ENDPOINTS).filter((path) => !(`POST ${path}` in ENTRIES)),
      [],
    );
    assert.deepEqual(
      names,
      known,
      "A route with the scope 'inference' calls models: add it to ENTRIES of this file, or give it another rateClass.",
    );
  });

  const run = (
    { route, mode }: Pick<Cell, 'route' | 'mode'>,
    { key, organizationId, body }: { key: string; organizationId: string; body: object },
  ): Promise<Answer> =>
    mode === 'batch line'
      ? runBatchLine(api, route, organizationId, body)
      : api.send('POST', pathOf(route), { key, body: { ...body, ...(mode === 'streamed' && { stream: true }) } });

  for (const [number, cell] of listCells().entries()) {
    const { route, mode, policy, direction, trigger } = cell;
    const outcome = expectedOutcome(cell);
    const name = `${route} ${mode}, ${policy} policy on ${direction}, ${trigger}`;
    it(`${name}: ${outcome}`, async () => {
      const { key, organizationId } = await api.makeKey({ organization: `matrix ${number}` });
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
      const body = ENTRIES[route]?.body(direction === 'input' ? text : HARMLESS) ?? {};
      const answer = await run({ route, mode }, { key, organizationId, body });
      const { generates = false, isSealed = false, errorType = 'content_policy_violation' } = ENTRIES[route] ?? {};
      const hasHeaders = mode !== 'batch line';
      assertOutcome(answer, { outcome, direction, policyId, word, hasHeaders, isSealed, errorType });
      if (generates && !isSealed && outcome !== 'is blocked' && outcome !== 'is replaced') {
        assert.ok(answer.text.includes(answered.split(' ')[1] ?? ''), 'the answer must be that of the model');
      }
      const records = await api.db.sql.select().from(usageRecords);
      const own = records.filter(({ requestId }) => requestId === answer.headers.get('x-request-id'));
      assert.equal(own.length, outcome === 'is blocked' ? 0 : 1, 'blocked calls cost nothing, others are metered once');
      if (outcome === 'is blocked') assert.equal(api.engine.calls.length, calls, 'no engine may see blocked input');
    });
  }

  const generating = Object.keys(ENTRIES).filter((route) => ENTRIES[route]?.generates);
  const screened = generating.flatMap((route) => listModes(route, true).map((mode) => ({ route, mode })));
  for (const { route, mode } of screened.filter((each) => each.mode !== 'streamed')) {
    it(`${route} ${mode}, input and output flagged: both reach the caller`, async () => {
      const { key, organizationId } = await api.makeKey({ organization: `both ${route} ${mode}` });
      const topics = ['falcon', 'heron'].map((topic) => ({ topic, action: 'warn' }));
      const policy = { name: 'both', apply_to: ['both'], topic_deny_list: topics };
      const { id } = (await api.send('POST', '/v1/guardrail-policies', { key, body: policy })).json;
      api.engine.play(() => stream(words('about the heron today')));
      const body = ENTRIES[route]?.body('a falcon, "quoted"\n') ?? {};
      const { headers, json } = await run({ route, mode }, { key, organizationId, body });
      if (mode === 'whole') {
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
  errorType: string;
}

function assertOutcome(answer: Answer, expected: Expected): void {
  const { outcome, direction, policyId, word, hasHeaders, isSealed, errorType } = expected;
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
  assert.match(answer.text, /content_filter|refusal/);
  const content = answer.text.replace(MODERATION, '');
  assert.ok(!content.includes(word), `the answer must not contain the blocked text: ${content}`);
}
