import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { ingestInMemory } from '../../test/ingestion.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { usageRecords } from '../billing/tables.ts';
import { RUN_EVALUATION } from './evaluation-job.ts';
import { describeReference, parseJudgement } from './judge-answer.ts';
import { runDueSets } from './run-due-sets.ts';
import { type EvaluationWorkerDeps, runEvaluation } from './run-evaluation.ts';
import { EvaluationComparison, EvaluationResource, EvaluationResult } from './schema.ts';
import { evaluationResults, evaluations } from './tables.ts';

const OPENS = { question: 'When does the library in Ashford open?', answer: 'nine' };
const WARM = { question: 'How warm is the pool?', facts: [['27', 'twenty-seven'], 'degrees'] };
const MAYOR = { question: 'Who is the mayor of Ashford?', unanswerable: true };
const ENDPOINT = '/v1/knowledge-bases/:kb_id/evaluations';
const MODEL = 'general-8b';
const JUDGE = 'general-70b';
const never = new AbortController().signal;

describe('the judge model of an evaluation', () => {
  const embedder = bundledEmbedder();
  const api = useApi({ ...embeddedBy(embedder), jobs: [RUN_EVALUATION] });
  let path: string;
  before(async () => {
    const base = await ingestInMemory(api, {
      library: 'The library in Ashford opens at nine.',
      pool: 'The pool in Ashford is heated to 27 degrees.',
    });
    await base.run(await base.queueJob());
    path = `/v1/knowledge-bases/${(await base.base()).id}/evaluations`;
  });
  after(() => embedder.close());
  /** Prompts of the judge, parsed. */
  const judged: { question: string; reference: string; answer: string }[] = [];
  /** Answers all questions with `answer`, and judges by the question. */
  const play = (answer: string, judge: (question: string) => string) =>
    api.engine.play(({ prompt }) => {
      const text = prompt.kind === 'chat' ? String(prompt.messages.at(-1)?.content) : '';
      if (!text.startsWith('{"question"')) return stream(words(answer));
      judged.push(JSON.parse(text));
      return stream(words(judge(JSON.parse(text).question)));
    });
  const verdict = (one: string) => JSON.stringify({ reason: 'As "said".', verdict: one });
  beforeEach(() => {
    judged.length = 0;
    play('It opens at "9".', () => verdict('right'));
  });
  const run = (id: string, changes: Partial<EvaluationWorkerDeps> = {}) =>
    runEvaluation({ ...api.deps, ...changes }, id, never);
  const create = async (body: object) => {
    const { status, json, text } = await api.send('POST', path, { body });
    assert.equal(status, 200, text);
    return json.id as string;
  };
  const get = async (id: string) => {
    const { json } = await api.send('GET', `${path}/${id}`);
    assertSchema(EvaluationResource, json);
    return json;
  };
  const results = async (id: string) => {
    const { data } = (await api.send('GET', `${path}/${id}/results`)).json;
    for (const result of data) assertSchema(EvaluationResult, result);
    return data;
  };
  const evaluate = async (body: object) => {
    const id = await create({ configuration: { model: MODEL }, ...body });
    await run(id);
    return get(id);
  };
  const measuresOf = (evaluation: { summary: { measures: { name: string; value: number; questions: number }[] } }) =>
    Object.fromEntries(evaluation.summary.measures.map(({ name, value, questions }) => [name, [value, questions]]));

  it('scores answers against their reference, whatever the rules say, and its calls are recorded', async () => {
    const before = await api.db.sql.select().from(usageRecords).where(eq(usageRecords.endpoint, ENDPOINT));
    play('It opens at "9".', (question) => verdict(question === OPENS.question ? 'right' : 'declined'));
    const evaluation = await evaluate({ questions: [OPENS, WARM, MAYOR], judge_model: JUDGE });
    assert.deepEqual([evaluation.status, evaluation.judge_model], ['completed', JUDGE]);
    const measures = measuresOf(evaluation);
    assert.deepEqual(measures['answers_correct'], [0, 2]);
    assert.deepEqual(
      ['judge_right', 'judge_wrong', 'judge_declined', 'judge_failed'].map((name) => measures[name]),
      [
        [0.5, 2],
        [0, 2],
        [0.5, 2],
        [0, 2],
      ],
    );
    assert.deepEqual(
      judged.toSorted((a, b) => a.question.localeCompare(b.question)),
      [
        { question: WARM.question, reference: '27 or twenty-seven; degrees', answer: 'It opens at "9".' },
        { question: OPENS.question, reference: 'nine', answer: 'It opens at "9".' },
      ],
    );
    const rows = await results(evaluation.id);
    assert.deepEqual(
      rows.map(({ judgement }: EvaluationResult) => judgement?.verdict ?? null),
      ['right', 'declined', null],
    );
    assert.deepEqual(rows[0].judgement, { verdict: 'right', reason: 'As "said".', error: null });
    const calls = api.engine.calls.filter(({ request }) => JSON.stringify(request.prompt).includes('reference'));
    assert.ok(calls.length >= 2 && calls.every(({ request }) => request.priority === 'batch'));
    const records = (await api.db.sql.select().from(usageRecords).where(eq(usageRecords.endpoint, ENDPOINT))).slice(
      before.length,
    );
    assert.equal(records.filter(({ model }) => model === JUDGE).length, 2);
    assert.equal(
      records.reduce((sum, { costMicros }) => sum + costMicros, 0),
      evaluation.cost_micros,
    );
  });

  it('leaves a run without one as it was: no call, no measure, and the same cost of each question', async () => {
    const plain = await evaluate({ questions: [OPENS], judge_model: null });
    assert.deepEqual([judged.length, plain.judge_model], [0, null]);
    assert.ok(!Object.keys(measuresOf(plain)).some((name) => name.startsWith('judge')));
    const [first] = await results(plain.id);
    assert.equal(first.judgement, null);
    const scored = await evaluate({ questions: [OPENS], judge_model: JUDGE });
    assert.equal((await results(scored.id))[0].measures.cost_micros, first.measures.cost_micros);
    assert.ok(scored.cost_micros > plain.cost_micros);
  });

  for (const completion of ['right', '{"verdict":"RIGHT","reason":"x"}', '["right"]', '{"reason":"right"}', '']) {
    it(`reports the completion ${JSON.stringify(completion)} by question, never as right`, async () => {
      play('nine', (question) => (question === OPENS.question ? completion : verdict('right')));
      const evaluation = await evaluate({ questions: [OPENS, WARM], judge_model: JUDGE });
      assert.deepEqual(evaluation.question_counts.failed, 0);
      const { judge_right, judge_failed, answers_correct } = measuresOf(evaluation);
      assert.deepEqual(
        [judge_right, judge_failed, answers_correct],
        [
          [0.5, 2],
          [0.5, 2],
          [0.5, 2],
        ],
      );
      const [broken, valid] = await results(evaluation.id);
      assert.deepEqual([broken.judgement.verdict, broken.judgement.error.code], [null, 'invalid_verdict']);
      assert.deepEqual([valid.judgement.verdict, valid.judgement.error], ['right', null]);
    });
  }

  it('reports a failed call of the judge by question, and ends with the error of every question', async () => {
    play('nine', () => {
      throw new Error('the judge is broken');
    });
    const evaluation = await evaluate({ questions: [OPENS], judge_model: JUDGE });
    assert.deepEqual([evaluation.status, evaluation.question_counts.completed], ['completed', 1]);
    const [{ judgement, answer }] = await results(evaluation.id);
    assert.deepEqual([judgement.verdict, judgement.error.code, answer], [null, 'server_error', 'nine']);
    const models = { ...api.deps.models, get: (id: string) => (id === JUDGE ? undefined : api.deps.models.get(id)) };
    const gone = await create({ questions: [OPENS], configuration: { model: MODEL }, judge_model: JUDGE });
    await run(gone, { models: models as never });
    assert.deepEqual([(await get(gone)).status, (await get(gone)).error.code], ['failed', 'model_not_found']);
  });

  it('repeats no billed answer after a crash before the verdict', async () => {
    const id = await create({ questions: [OPENS], configuration: { model: MODEL }, judge_model: JUDGE });
    const crash = () => Promise.reject(new Error('the process ends here'));
    await assert.rejects(run(id, { recordUsage: crash }), /ends here/);
    api.engine.calls.length = 0;
    await run(id);
    assert.equal(api.engine.calls.length, 1, 'the verdict only');
    assert.deepEqual((await get(id)).question_counts, { total: 1, completed: 1, failed: 0, dropped: 0 });
    assert.equal((await results(id))[0].judgement.verdict, 'right');
  });

  it('is rejected without answers, when it is unknown, of another kind, and without the scope', async () => {
    const questions = [OPENS];
    const configuration = { model: MODEL };
    const send = (body: object, key?: string) => api.send('POST', path, { body, ...(key && { key }) });
    assertError(await send({ questions, judge_model: JUDGE }), 400, 'invalid_value', 'judge_model');
    assertError(await send({ questions, configuration, judge_model: '' }), 400, 'invalid_value', 'judge_model');
    assertError(await send({ questions, configuration, judge_model: 'none' }), 404, 'model_not_found', 'judge_model');
    const reranker = { questions, configuration, judge_model: 'reranker-v2-m3' };
    assertError(await send(reranker), 404, 'model_not_found', 'judge_model');
    const { key } = await api.makeKey({ models: [MODEL, 'embed-large-en-v1.5'] });
    assertError(
      await send({ questions, configuration, judge_model: JUDGE }, key),
      403,
      'insufficient_scope',
      'judge_model',
    );
  });

  it('is compared with its own verdicts only, and the comparison says which evaluation was judged', async () => {
    const questions = Array.from({ length: 10 }, (_, i) => ({ ...OPENS, facts: [['nine', `alternative ${i}`]] }));
    const plain = await evaluate({ questions });
    let broken = 0;
    play('It opens at "9".', () => {
      broken += 1;
      return broken === 1 ? 'no verdict' : verdict('wrong');
    });
    const scored = await evaluate({ questions, judge_model: JUDGE, baseline_id: plain.id });
    assertSchema(EvaluationComparison, scored.comparison);
    assert.equal(scored.comparison.judged, 'evaluation_only');
    const names = (comparison: EvaluationComparison) => comparison.measures.map(({ name }) => name);
    assert.ok(!names(scored.comparison).some((name) => name.startsWith('judge')));
    play('It opens at "9".', () => verdict('right'));
    const again = await evaluate({ questions, judge_model: JUDGE, baseline_id: scored.id });
    assert.deepEqual([again.comparison.judged, again.comparison.verdict], ['both', 'better']);
    const right = again.comparison.measures.find(({ name }: { name: string }) => name === 'judge_right');
    assert.deepEqual([right.baseline, right.value, right.verdict], [0, 1, 'better']);
    assert.ok(!names(again.comparison).includes('judge_failed'));
    const wrong = again.comparison.measures.find(({ name }: { name: string }) => name === 'judge_wrong');
    assert.deepEqual([wrong.baseline, wrong.value], [1, 0], 'the question without a verdict is left out');
    const compare = async (id: string, baseline: string) =>
      (await api.send('GET', `${path}/${id}/compare?baseline=${baseline}`)).json as EvaluationComparison;
    assert.equal((await compare(plain.id, again.id)).judged, 'baseline_only');
    assert.equal((await compare(plain.id, plain.id)).judged, 'neither');
    const other = await evaluate({ questions, judge_model: MODEL });
    const different = await compare(other.id, again.id);
    assert.equal(different.judged, 'different_models');
    assert.ok(!names(different).some((name) => name.startsWith('judge')));
  });

  it('is part of a question set and of its scheduled runs', async () => {
    const sets = path.replace('evaluations', 'question-sets');
    const body = { name: 'Judged', questions: [OPENS], configuration: { model: MODEL }, judge_model: JUDGE };
    const { id, judge_model } = (await api.send('POST', sets, { body: { ...body, schedule: '6h' } })).json;
    assert.equal(judge_model, JUDGE);
    assert.equal((await get(await create({ question_set_id: id }))).judge_model, JUDGE);
    assert.equal((await get(await create({ question_set_id: id, judge_model: null }))).judge_model, null);
    await api.db.sql.delete(evaluations).where(eq(evaluations.questionSetId, id));
    await runDueSets(api.deps);
    const newest = (await api.send('GET', `${path}?order=desc&limit=1`)).json.data[0];
    assert.deepEqual([newest.question_set_id, newest.judge_model], [id, JUDGE]);
    const patch = (changes: object) => api.send('PATCH', `${sets}/${id}`, { body: changes });
    assert.equal((await patch({ name: 'Still judged' })).json.judge_model, JUDGE);
    assertError(await patch({ configuration: {} }), 400, 'invalid_value', 'judge_model');
    assertError(await patch({ judge_model: 'none' }), 404, 'model_not_found', 'judge_model');
    assert.equal((await patch({ configuration: {}, judge_model: null })).json.judge_model, null);
    const unanswered = { ...body, configuration: {} };
    assertError(await api.send('POST', sets, { body: unanswered }), 400, 'invalid_value', 'judge_model');
  });

  it('leaves rows of versions before it readable', async () => {
    const { id } = await evaluate({ questions: [OPENS] });
    const other = await evaluate({ questions: [OPENS], baseline_id: id });
    const { judged: _judged, baseline_knowledge_base_id: _baseId, ...comparison } = other.comparison;
    await api.db.sql.update(evaluations).set({ comparison }).where(eq(evaluations.id, other.id));
    const [row] = await api.db.sql.select().from(evaluationResults).where(eq(evaluationResults.evaluationId, other.id));
    const { judgement: _judgement, ...result } = row?.result ?? assert.fail();
    await api.db.sql.update(evaluationResults).set({ result }).where(eq(evaluationResults.evaluationId, other.id));
    assert.equal((await get(other.id)).comparison.judged, 'neither');
    assert.equal((await results(other.id))[0].judgement, null);
  });

  it('refers to the facts, else to the passage, and cleans the reason', () => {
    assert.equal(describeReference({ ...WARM, passage: 'The pool.' }), '27 or twenty-seven; degrees');
    assert.equal(describeReference({ question: 'Why?', passage: 'The "pool".' }), 'The "pool".');
    assert.equal(describeReference({ question: 'Why?', document: 'pool.txt' }), null);
    assert.equal(describeReference(MAYOR), null);
    const reason = `a\u0000\ud800${'b'.repeat(2_000)}`;
    const judgement = parseJudgement(JSON.stringify({ reason, verdict: 'wrong' }));
    assert.ok(judgement.reason?.startsWith('a\ufffdb') && judgement.reason.length < 1_100, judgement.reason ?? '');
    assert.equal(parseJudgement('{"verdict":"declined"}').reason, null);
  });
});
