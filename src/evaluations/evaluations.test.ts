import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { encodeForm, sendForm } from '../../test/forms.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { ingestInMemory } from '../../test/ingestion.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { usageRecords } from '../billing/tables.ts';
import { engineUnavailable } from '../errors.ts';
import { ingestionJobs } from '../knowledge-bases/jobs/tables.ts';
import { RUN_EVALUATION } from './evaluation-job.ts';
import { runDueSets } from './run-due-sets.ts';
import { type EvaluationWorkerDeps, runEvaluation } from './run-evaluation.ts';
import { EvaluationComparison, EvaluationResource, EvaluationResult, QuestionSet } from './schema.ts';
import { questionSets } from './tables.ts';

const LIBRARY = 'The library in Ashford opens at nine.';
const POOL = 'The pool in Ashford is heated to 27 degrees.';
const OPENS = { question: 'When does the library in Ashford open?', answer: 'nine' };
const QUESTIONS = [
  OPENS,
  { question: 'How warm is the pool?', facts: [['27', 'twenty-seven']], document: 'pool.txt' },
  { question: 'Who is the mayor of Ashford?', unanswerable: true },
];
const DECLINED = 'I could not find that in the documents.';
const never = new AbortController().signal;

// No process takes jobs from the queue here: each test runs the handler, and stops or fails it where a crash would.
describe('evaluations of a knowledge base', () => {
  const embedder = bundledEmbedder();
  const api = useApi({ ...embeddedBy(embedder), jobs: [RUN_EVALUATION] });
  let base: Awaited<ReturnType<typeof ingestInMemory>>;
  let kb: string;
  let path: string;
  before(async () => {
    base = await ingestInMemory(api, { library: LIBRARY, pool: POOL });
    await base.run(await base.queueJob());
    kb = (await base.base()).id;
    path = `/v1/knowledge-bases/${kb}/evaluations`;
  });
  after(() => embedder.close());
  /** Answers by the last question of the prompt. */
  const play = (replies: Record<string, string>) =>
    api.engine.play(({ prompt }) => {
      const text = prompt.kind === 'chat' ? (prompt.messages.at(-1)?.content ?? '') : '';
      const [, reply = DECLINED] = Object.entries(replies).find(([part]) => text.endsWith(part)) ?? [];
      return stream(words(reply));
    });
  beforeEach(() => {
    api.engine.calls.length = 0;
    play({
      'library in Ashford open?': 'The library in Ashford opens at nine.',
      'pool?': 'It is heated to 31 degrees.',
    });
  });
  const create = async (body: object) => {
    const { status, json, text } = await api.send('POST', path, { body });
    assert.equal(status, 200, text);
    assertSchema(EvaluationResource, json);
    return json.id as string;
  };
  const run = (evaluationId: string, changes: Partial<EvaluationWorkerDeps> = {}, signal = never) =>
    runEvaluation({ ...api.deps, ...changes }, evaluationId, signal);
  const get = async (id: string) => (await api.send('GET', `${path}/${id}`)).json;
  const results = async (id: string) => (await api.send('GET', `${path}/${id}/results`)).json.data;
  const evaluate = async (body: object) => {
    const id = await create(body);
    await run(id);
    return get(id);
  };
  const answered = { configuration: { model: 'general-8b' } };

  it('measure search, answers, citations, refusals, cost and time', async () => {
    const evaluation = await evaluate({ questions: QUESTIONS, ...answered, name: 'First' });
    assertSchema(EvaluationResource, evaluation);
    assert.deepEqual([evaluation.name, evaluation.status], ['First', 'completed']);
    assert.deepEqual(evaluation.question_counts, { total: 3, completed: 3, failed: 0, dropped: 0 });
    const values = evaluation.summary.measures.map(({ name, value, questions }: Record<string, unknown>) => [
      name,
      value,
      questions,
    ]);
    assert.deepEqual(Object.fromEntries(values.map(([name, ...rest]: unknown[]) => [name, rest])), {
      'recall@1': [1, 2],
      'recall@5': [1, 2],
      'recall@20': [1, 2],
      'ndcg@10': [1, 2],
      mrr: [1, 2],
      answers_correct: [0.5, 2],
      answers_wrong: [0.5, 2],
      answers_declined: [0, 2],
      citations_correct: [0.5, 2],
      refusals_correct: [1, 1],
    });
    assert.ok(evaluation.cost_micros > 0 && evaluation.summary.latency_ms.answer.p95 !== null);
    const [first] = await results(evaluation.id);
    assertSchema(EvaluationResult, first);
    assert.deepEqual([first.question, first.evidence_ranks], [OPENS, [1]]);
    assert.equal(first.hits[0].document_name, 'library.txt');
    assert.deepEqual(first.cited_chunk_ids, [first.hits[0].chunk_id]);
    const records = await api.db.sql
      .select()
      .from(usageRecords)
      .where(eq(usageRecords.endpoint, '/v1/knowledge-bases/:kb_id/evaluations'));
    assert.equal(
      records.reduce((sum, { costMicros }) => sum + costMicros, 0),
      evaluation.cost_micros,
    );
    assert.ok(api.engine.calls.every(({ request }) => request.priority === 'batch'));
  });

  it('measure the search only without a model', async () => {
    const evaluation = await evaluate({ questions: QUESTIONS, configuration: { search_type: 'keyword', top_k: 1 } });
    assert.deepEqual(evaluation.summary.latency_ms.answer, { p50: null, p95: null });
    assert.equal(api.engine.calls.length, 0);
    assert.ok(!evaluation.summary.measures.some(({ name }: { name: string }) => name.startsWith('answers')));
  });

  it('give the model as many chunks as the configuration says', async () => {
    for (const [top_k, documents] of [
      [1, 1],
      [10, 2],
    ] as const) {
      await evaluate({ questions: [OPENS], configuration: { model: 'general-8b', top_k } });
      const { prompt } = api.engine.calls.at(-1)?.request ?? {};
      const text = prompt?.kind === 'chat' ? String(prompt.messages.at(-1)?.content) : '';
      assert.equal(text.match(/index="/g)?.length, documents, text);
    }
  });

  it('read questions from an uploaded file, and name its lines in errors', async () => {
    const upload = async (content: string) => {
      const form = encodeForm([
        { name: 'purpose', content: 'fine-tune' },
        { name: 'file', filename: 'q.jsonl', content },
      ]);
      return (await sendForm(`${api.url}/v1/files`, form, { key: api.key })).json.id;
    };
    const lines = [JSON.stringify(OPENS), '', JSON.stringify({ question: 'Who?', unanswerable: true })];
    const evaluation = await evaluate({ file_id: await upload(`\ufeff${lines.join('\r\n')}`) });
    assert.equal(evaluation.question_counts.completed, 2);
    const bad = await upload(`${lines.join('\n')}\n{"question": "What?"}`);
    assertError(
      await api.send('POST', path, { body: { file_id: bad } }),
      400,
      'missing_required_field',
      'file_id.lines.4.answer',
    );
  });

  const long = 'x'.repeat(4_001);
  for (const { name, body, code, param } of [
    { name: 'without questions', body: {}, code: 'missing_required_field', param: 'questions' },
    {
      name: 'with two sources',
      body: { questions: [OPENS], generate: { count: 1, model: 'general-8b' } },
      code: 'invalid_value',
      param: 'generate',
    },
    { name: 'with no question', body: { questions: [] }, code: 'invalid_value', param: 'questions' },
    {
      name: 'with 1,001 questions',
      body: { questions: Array(1_001).fill(OPENS) },
      code: 'invalid_value',
      param: 'questions',
    },
    {
      name: 'with a long question',
      body: { questions: [{ ...OPENS, question: long }] },
      code: 'invalid_value',
      param: 'questions.0.question',
    },
    {
      name: 'with a blank question',
      body: { questions: [OPENS, { ...OPENS, question: ' ' }] },
      code: 'invalid_value',
      param: 'questions.1.question',
    },
    {
      name: 'without evidence',
      body: { questions: [{ question: 'When?' }] },
      code: 'missing_required_field',
      param: 'questions.0.answer',
    },
    {
      name: 'that is unanswerable with an answer',
      body: { questions: [{ ...OPENS, unanswerable: true }] },
      code: 'invalid_value',
      param: 'questions.0.unanswerable',
    },
    {
      name: 'with NUL',
      body: { questions: [{ ...OPENS, answer: 'a\u0000' }] },
      code: 'invalid_value',
      param: 'questions.0',
    },
    {
      name: 'with top_k 51',
      body: { questions: [OPENS], configuration: { top_k: 51 } },
      code: 'invalid_value',
      param: 'configuration.top_k',
    },
    {
      name: 'with a weight above 1',
      body: { questions: [OPENS], configuration: { hybrid_weight: 1.1 } },
      code: 'invalid_value',
      param: 'configuration.hybrid_weight',
    },
  ]) {
    it(`are rejected ${name}: 400 ${code}`, async () => {
      assertError(await api.send('POST', path, { body }), 400, code, param);
    });
  }

  it('are rejected with unknown models and baselines, without the scopes, and without a key', async () => {
    const body = { questions: [OPENS], configuration: { model: 'nothing' } };
    assertError(await api.send('POST', path, { body }), 404, 'model_not_found', 'configuration.model');
    const generate = { count: 1, model: 'nothing' };
    assertError(await api.send('POST', path, { body: { generate } }), 404, 'model_not_found', 'generate.model');
    const baseline = { questions: [OPENS], baseline_id: 'eval_x' };
    assertError(await api.send('POST', path, { body: baseline }), 404, 'evaluation_not_found', 'baseline_id');
    assertError(await api.send('POST', path, { body, key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['knowledge'] });
    const own = { questions: [OPENS], ...answered };
    assertError(await api.send('POST', path, { body: own, key }), 403, 'insufficient_scope', 'configuration.model');
    assert.equal((await api.send('POST', path, { body: { questions: [OPENS] }, key })).status, 200);
  });

  it('continue after a crash without repeating a billed call', async () => {
    const id = await create({ questions: QUESTIONS, ...answered });
    const crash = () => Promise.reject(new Error('the process ends here'));
    await assert.rejects(run(id, { recordUsage: crash }), /ends here/);
    const done = (await get(id)).question_counts.completed;
    assert.ok(done > 0);
    api.engine.calls.length = 0;
    const recorded: string[] = [];
    const recordUsage: EvaluationWorkerDeps['recordUsage'] = (record, reservation) => {
      recorded.push(record.id);
      return api.deps.recordUsage(record, reservation);
    };
    await run(id, { recordUsage });
    assert.equal(api.engine.calls.length, 3 - done);
    const evaluation = await get(id);
    assert.equal(evaluation.question_counts.completed, 3);
    assert.equal(new Set(recorded).size, recorded.length);
    const ledger = await api.db.sql.select().from(usageRecords);
    const own = ledger.filter((record) => recorded.includes(record.id));
    assert.equal(
      own.reduce((sum, { costMicros }) => sum + costMicros, 0),
      evaluation.cost_micros,
    );
    recorded.length = 0;
    await run(id, { recordUsage });
    assert.deepEqual(recorded, [], 'a job that runs again does nothing');
  });

  it('retry a passing error, store a failed question, and end with an error of every question', async () => {
    let calls = 0;
    api.engine.play(() => {
      calls += 1;
      if (calls === 1) throw engineUnavailable('not now', 0);
      return stream(words('nine'));
    });
    assert.equal((await evaluate({ questions: [OPENS], ...answered })).question_counts.completed, 1);
    assert.equal(calls, 2);
    api.engine.play(() => {
      throw new Error('the model is broken');
    });
    const id = await create({ questions: [OPENS], ...answered });
    await run(id);
    const { status, question_counts } = await get(id);
    assert.deepEqual([status, question_counts.failed], ['completed', 1]);
    const [failed] = await results(id);
    assert.deepEqual([failed.status, failed.error.code, failed.answer], ['failed', 'server_error', null]);
    const models = { ...api.deps.models, get: () => undefined } as never;
    const gone = await create({ questions: [OPENS], ...answered });
    await run(gone, { models });
    assert.equal((await get(gone)).status, 'failed');
    assert.match((await get(gone)).error.code, /not_found/);
  });

  it('are cancelled, and deleted while they run', async () => {
    const id = await create({ questions: QUESTIONS, ...answered });
    assert.equal((await api.send('POST', `${path}/${id}/cancel`)).json.status, 'cancelled');
    assert.equal((await api.send('POST', `${path}/${id}/cancel`)).json.status, 'cancelled');
    await run(id);
    assert.equal(api.engine.calls.length, 0);
    const done = await evaluate({ questions: [OPENS] });
    assertError(await api.send('POST', `${path}/${done.id}/cancel`), 400, 'invalid_value', 'evaluation_id');
    assert.equal((await api.send('DELETE', `${path}/${done.id}`)).json.deleted, true);
    assertError(await api.send('GET', `${path}/${done.id}`), 404, 'evaluation_not_found', 'evaluation_id');
    assertError(await api.send('GET', `${path}/${done.id}/results`), 404, 'evaluation_not_found', 'evaluation_id');
    await run(done.id);
  });

  it('are listed page by page, and so are their results', async () => {
    const first = (await api.send('GET', `${path}?limit=1`)).json;
    const second = (await api.send('GET', `${path}?limit=1&after=${first.last_id}`)).json;
    assert.ok(first.has_more && second.data[0].id > first.last_id);
    const newest = (await api.send('GET', `${path}?limit=1&order=desc`)).json.data[0];
    const rows = (await api.send('GET', `${path}/${newest.id}/results?limit=1`)).json;
    assert.equal(rows.data.length, 1);
    assertError(await api.send('GET', `${path}?after=x`), 400, 'invalid_value', 'after');
    assertError(await api.send('GET', `${path}/${newest.id}/results?after=eval_x`), 400, 'invalid_value', 'after');
  });

  it('are compared on the questions that both have', async () => {
    const many = Array.from({ length: 12 }, (_, i) => ({ ...OPENS, facts: [['nine', `alternative ${i}`]] }));
    const good = await evaluate({ questions: many, ...answered });
    play({});
    const worse = await evaluate({ questions: [...many, QUESTIONS[1]], ...answered, baseline_id: good.id });
    assertSchema(EvaluationComparison, worse.comparison);
    assert.deepEqual([worse.comparison.verdict, worse.comparison.questions], ['worse', 12]);
    const compared = (await api.send('GET', `${path}/${good.id}/compare?baseline=${worse.id}`)).json;
    assertSchema(EvaluationComparison, compared);
    assert.equal(compared.verdict, 'better');
    const correct = compared.measures.find(({ name }: { name: string }) => name === 'answers_correct');
    assert.deepEqual([correct.baseline, correct.value, correct.low, correct.high], [0, 1, 1, 1]);
    const queued = await create({ questions: [OPENS] });
    assertError(
      await api.send('GET', `${path}/${queued}/compare?baseline=${good.id}`),
      400,
      'invalid_value',
      'evaluation_id',
    );
    assertError(
      await api.send('GET', `${path}/${good.id}/compare?baseline=${queued}`),
      400,
      'invalid_value',
      'baseline',
    );
    assertError(await api.send('GET', `${path}/${good.id}/compare`), 400, 'missing_required_field', 'baseline');
  });

  it('generate questions that their passage answers, and drop the others', async () => {
    const town = `${LIBRARY} It closes at six. ${'The reading room is on the second floor. '.repeat(6)}`;
    const club = `The chess club meets on Mondays. ${'Guests are welcome and pay nothing. '.repeat(6)}`;
    const other = await ingestInMemory(api, { town, club });
    await other.run(await other.queueJob());
    const otherPath = `/v1/knowledge-bases/${(await other.base()).id}/evaluations`;
    api.engine.play(({ prompt }) => {
      const text = prompt.kind === 'chat' ? String(prompt.messages.at(-1)?.content) : '';
      if (text.endsWith('close?')) return stream(words('At six.'));
      const written = text.includes('chess')
        ? { question: 'When does the club meet?', answer: 'on Tuesdays' }
        : { question: 'When does the library in Ashford close?', answer: 'six' };
      return stream(words(JSON.stringify(written)));
    });
    const { id } = (await api.send('POST', otherPath, { body: { generate: { count: 5, model: 'general-8b' } } })).json;
    const crash = () => Promise.reject(new Error('the process ends here'));
    await assert.rejects(run(id, { recordUsage: crash }), /ends here/);
    await run(id);
    const { status, question_counts, summary } = (await api.send('GET', `${otherPath}/${id}`)).json;
    assert.deepEqual([status, question_counts], ['completed', { total: 2, completed: 1, failed: 0, dropped: 1 }]);
    assert.equal(summary.measures[0].value, 1);
    const rows = (await api.send('GET', `${otherPath}/${id}/results`)).json.data;
    const kept = rows.find((row: EvaluationResult) => row.status === 'completed');
    assert.deepEqual(kept.question, {
      question: 'When does the library in Ashford close?',
      answer: 'six',
      document: 'town.txt',
    });
    api.engine.play(() => stream(words('no JSON')));
    const none = (await api.send('POST', otherPath, { body: { generate: { count: 1, model: 'general-8b' }, seed: 1 } }))
      .json;
    await run(none.id);
    assert.deepEqual((await api.send('GET', `${otherPath}/${none.id}`)).json.error.code, 'no_questions');
  });

  describe('question sets', () => {
    let sets: string;
    before(() => {
      sets = `/v1/knowledge-bases/${kb}/question-sets`;
    });
    const createSet = async (body: object) => {
      const { status, json, text } = await api.send('POST', sets, { body });
      assert.equal(status, 200, text);
      assertSchema(QuestionSet, json);
      return json;
    };

    it('are saved, listed, changed, appended to and deleted', async () => {
      const { id } = await createSet({ name: 'Opening "hours"', questions: [OPENS] });
      const changed = (
        await api.send('PATCH', `${sets}/${id}`, { body: { name: 'Hours', add_questions: [QUESTIONS[2]] } })
      ).json;
      assertSchema(QuestionSet, changed);
      assert.deepEqual([changed.name, changed.questions], ['Hours', [OPENS, QUESTIONS[2]]]);
      const replaced = (await api.send('PATCH', `${sets}/${id}`, { body: { questions: [OPENS], schedule: '1d' } }))
        .json;
      assert.deepEqual([replaced.question_count, replaced.schedule], [1, '1d']);
      assert.equal((await api.send('PATCH', `${sets}/${id}`, { body: { schedule: null } })).json.schedule, null);
      assert.deepEqual((await api.send('GET', `${sets}/${id}`)).json.questions, [OPENS]);
      assert.equal((await api.send('GET', sets)).json.data[0].questions, undefined);
      assert.equal((await api.send('DELETE', `${sets}/${id}`)).json.deleted, true);
      assertError(await api.send('GET', `${sets}/${id}`), 404, 'question_set_not_found', 'question_set_id');
    });

    it('are rejected with a bad schedule, too many questions, and models of no kind', async () => {
      const body = { name: 'Set', questions: [OPENS] };
      for (const schedule of ['often', '1m', '* * * * *'])
        assertError(await api.send('POST', sets, { body: { ...body, schedule } }), 400, 'invalid_value', 'schedule');
      const { id } = await createSet({ ...body, questions: Array(1_000).fill(OPENS) });
      assertError(
        await api.send('PATCH', `${sets}/${id}`, { body: { add_questions: [OPENS] } }),
        400,
        'invalid_value',
        'add_questions',
      );
      const configuration = { model: 'reranker-v2-m3' };
      assertError(
        await api.send('PATCH', `${sets}/${id}`, { body: { configuration } }),
        404,
        'model_not_found',
        'configuration.model',
      );
      assertError(await api.send('POST', sets, { body: { ...body, name: ' ' } }), 400, 'invalid_value', 'name');
    });

    it('run with their configuration, compared with their last run', async () => {
      const { id } = await createSet({ name: 'Runs', questions: QUESTIONS, ...answered });
      const first = await evaluate({ question_set_id: id });
      assert.deepEqual([first.name, first.baseline_id, first.configuration], ['Runs', null, answered.configuration]);
      const second = await evaluate({ question_set_id: id, configuration: { top_k: 3 } });
      assert.deepEqual(second.configuration, { ...answered.configuration, top_k: 3 });
      assert.deepEqual([second.baseline_id, second.comparison.verdict], [first.id, 'unclear']);
      assert.equal((await api.send('GET', `${sets}/${id}`)).json.last_verdict, 'unclear');
    });

    it('run after a sync that changed documents, once, and when their interval is over', async () => {
      await api.db.sql.delete(questionSets);
      const { id } = await createSet({ name: 'After sync', questions: [OPENS], schedule: 'after_sync' });
      const runs = async () => {
        const { data } = (await api.send('GET', `${path}?limit=100`)).json;
        return data.filter(({ question_set_id }: EvaluationResource) => question_set_id === id);
      };
      const due = (now = Date.now()) => runDueSets({ ...api.deps, now: () => now });
      await Promise.all([due(), due()]);
      assert.equal((await runs()).length, 1, 'the baseline');
      await due();
      await run((await runs())[0].id);
      await due();
      assert.equal((await runs()).length, 1, 'nothing has changed since');
      const jobId = await base.queueJob();
      await due();
      await base.run(jobId);
      await due();
      assert.equal((await runs()).length, 1, 'the sync changed no document');
      const changedAt = new Date(Date.now() + 1_000);
      await api.db.sql
        .update(ingestionJobs)
        .set({ documentsModified: 1, completedAt: changedAt })
        .where(eq(ingestionJobs.id, jobId));
      const running = await base.queueJob();
      await due();
      assert.equal((await runs()).length, 1, 'another sync runs');
      await api.db.sql.delete(ingestionJobs).where(eq(ingestionJobs.id, running));
      await due();
      assert.equal((await runs()).length, 2);
      assert.equal((await runs())[1].baseline_id, (await runs())[0].id);
      await run((await runs())[1].id);
      await api.send('PATCH', `${sets}/${id}`, { body: { schedule: '6h' } });
      await due();
      assert.equal((await runs()).length, 2);
      await due(Date.now() + 6 * 3_600_000 + 1_000);
      assert.equal((await runs()).length, 3);
    });
  });
});
