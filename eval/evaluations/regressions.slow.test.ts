/**
 * Whether an evaluation detects seeded regressions of a knowledge base, and how often it raises a false alarm. Prints
 * its figures. Searches the documents of `eval/manuals` and `docs/use` with the bundled embedding model.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { EmbeddingEngine } from '../../src/engines/embedding-engine.ts';
import { seededRandom } from '../../src/evaluations/bootstrap.ts';
import { compareMeasures, type MeasuredQuestion } from '../../src/evaluations/compare-evaluations.ts';
import { RUN_EVALUATION } from '../../src/evaluations/evaluation-job.ts';
import { runEvaluation } from '../../src/evaluations/run-evaluation.ts';
import type { Question } from '../../src/evaluations/schema.ts';
import { selectMeasures } from '../../src/evaluations/store.ts';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { useApi } from '../../test/harness.ts';
import { MemorySource, makeSource } from '../../test/ingestion.ts';

const MANUALS = join(import.meta.dirname, '../manuals');
const DOCS = join(import.meta.dirname, '../../docs/use');
const REPEATS = 50;
/** Questions of a resampled set. */
const SET_SIZES = [30, 60, 120];

interface ManualQuestion {
  question: string;
  answer?: string[] | null;
}

/** The documents of the manuals and of Quire, and the questions about them that have an answer. */
function readCorpus(): { documents: Map<string, string>; questions: Question[] } {
  const documents = new Map<string, string>();
  const questions: Question[] = [];
  for (const set of ['development', 'held-back', 'quire-docs']) {
    const folder = join(MANUALS, set);
    for (const line of readFileSync(join(folder, 'questions.jsonl'), 'utf8').trim().split('\n')) {
      const { question, answer } = JSON.parse(line) as ManualQuestion;
      if (answer?.length) questions.push({ question, facts: answer });
    }
    const source = set === 'quire-docs' ? DOCS : folder;
    for (const name of readdirSync(source).filter((each) => each.endsWith('.md')))
      documents.set(name, readFileSync(join(source, name), 'utf8'));
  }
  // Written after the questions, and about the same words.
  documents.delete('evaluations.md');
  return { documents, questions };
}

/** A model that knows the trigrams of letters only, hashed into the dimensions of the bundled one. */
const embedTrigrams: EmbeddingEngine['embed'] = async ({ texts }) => ({
  tokens: texts.length,
  vectors: texts.map((text) => {
    const vector = new Float32Array(1024);
    const letters = text.toLowerCase();
    for (let at = 0; at + 3 <= letters.length; at += 1) {
      const code = letters.charCodeAt(at) * 961 + letters.charCodeAt(at + 1) * 31 + letters.charCodeAt(at + 2);
      const slot = Math.imul(code, 2_654_435_761) >>> 22;
      vector[slot] = (vector[slot] ?? 0) + 1;
    }
    const norm = Math.hypot(...vector) || 1;
    return vector.map((value) => value / norm);
  }),
});

/** An extractor that loses letters: every `f` and `t` goes, as with a font whose glyphs have no code. */
const loseLetters = (text: string): string => text.replaceAll(/[ft]/gi, '');

describe('seeded regressions', () => {
  const embedder = bundledEmbedder();
  let embed: EmbeddingEngine['embed'] = (request, signal) => embedder.embed(request, signal);
  const swappable: EmbeddingEngine = {
    backend: () => embedder.backend(),
    fingerprint: () => embedder.fingerprint(),
    embed: (request, signal) => embed(request, signal),
    countTokens: (texts, signal) => embedder.countTokens(texts, signal),
    check: (signal) => embedder.check(signal),
    close: () => embedder.close(),
  };
  const api = useApi({ ...embeddedBy(swappable), jobs: [RUN_EVALUATION] });
  after(() => embedder.close());
  const { documents, questions } = readCorpus();

  /** Ingests the documents and evaluates the search. */
  const measure = async (
    name: string,
    {
      chunking = {},
      change = (text: string) => text,
      extra = {} as Record<string, string>,
      isReversed = false,
      search = 'hybrid',
    } = {},
  ): Promise<MeasuredQuestion[]> => {
    const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name, chunking_strategy: chunking } })).json;
    const source = new MemorySource();
    const entries = [...documents, ...Object.entries(extra)];
    for (const [key, text] of isReversed ? entries.toReversed() : entries)
      source.items.set(key, change(text).replaceAll('|', ' '));
    const { run, queueJob } = await makeSource(api, base.id, source);
    await run(await queueJob());
    const path = `/v1/knowledge-bases/${base.id}/evaluations`;
    const { json, text, status } = await api.send('POST', path, {
      body: { questions, configuration: { search_type: search } },
    });
    assert.equal(status, 200, text);
    await runEvaluation(api.deps, json.id, new AbortController().signal);
    const evaluation = (await api.send('GET', `${path}/${json.id}`)).json;
    assert.equal(evaluation.question_counts.completed, questions.length);
    const values = evaluation.summary.measures.map(({ name, value }: { name: string; value: number }) => {
      return `${name} ${value.toFixed(3)}`;
    });
    console.log(`${name}: ${values.join(', ')}`);
    return selectMeasures(api.db.sql, json.id);
  };

  /** Share of the verdicts over question sets that are drawn from the pairs with replacement. */
  const verdicts = async (
    before: MeasuredQuestion[],
    after: MeasuredQuestion[],
    { size, isSwapped = false }: { size: number; isSwapped?: boolean },
  ) => {
    const counts = { better: 0, worse: 0, mixed: 0, unclear: 0 };
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const random = seededRandom(repeat);
      const drawn = Array.from({ length: size }, (_, i) => {
        const index = Math.floor(random() * before.length);
        const pair = [before[index], after[index]].map((each) => ({ ...each, question: { question: String(i) } }));
        return isSwapped && random() < 0.5 ? pair.toReversed() : pair;
      }) as [MeasuredQuestion, MeasuredQuestion][];
      const { verdict } = await compareMeasures(
        drawn.map(([one]) => one),
        drawn.map(([, other]) => other),
        repeat,
      );
      counts[verdict] += 1;
    }
    return counts;
  };

  it('are detected, and harmless changes are not', async () => {
    const healthy = await measure('healthy');
    const again = await measure('synced again', { isReversed: true, extra: { 'notes.md': 'Lunch is at noon.' } });
    const near = await measure('chunks of 384', { chunking: { chunk_size: 384 } });
    const broken = {
      'chunk size 40': await measure('chunk size 40', { chunking: { chunk_size: 40, chunk_overlap: 0 } }),
      'broken extractor': await measure('broken extractor', { change: loseLetters }),
    };
    const vectors = await measure('healthy, by vectors', { search: 'vector' });
    embed = embedTrigrams;
    const swapped = await measure('swapped embedding model', {});
    const swappedVectors = await measure('swapped embedding model, by vectors', { search: 'vector' });
    const pairs = {
      ...Object.fromEntries(Object.entries(broken).map(([name, results]) => [name, [healthy, results] as const])),
      'swapped embedding model, by vectors': [vectors, swappedVectors] as const,
    };
    console.log(`${questions.length} questions`);
    for (const size of SET_SIZES) {
      for (const [name, [before, results]] of Object.entries(pairs)) {
        const counts = await verdicts(before, results, { size });
        console.log(`${size} questions, ${name}: ${JSON.stringify(counts)}`);
        if (size >= 60) assert.ok(counts.worse >= REPEATS * 0.9, name);
      }
      const masked = await verdicts(healthy, swapped, { size });
      console.log(`${size} questions, swapped embedding model beside keywords: ${JSON.stringify(masked)}`);
      const synced = await verdicts(healthy, again, { size });
      console.log(`${size} questions, synced again: ${JSON.stringify(synced)}`);
      let alarms = 0;
      for (const [name, other] of Object.entries({ near, swapped, ...broken })) {
        const counts = await verdicts(healthy, other, { size, isSwapped: true });
        console.log(`${size} questions, labels swapped at random, ${name}: ${JSON.stringify(counts)}`);
        alarms += counts.worse;
      }
      assert.ok(synced.worse === 0);
      assert.ok(alarms <= REPEATS * 4 * 0.05, `${alarms} false alarms`);
    }
    for (const [name, [before, results]] of Object.entries(pairs)) {
      const { verdict, measures } = await compareMeasures(before, results, 0);
      const worse = measures.filter((one) => one.verdict === 'worse').map((one) => one.name);
      console.log(`all questions, ${name}: ${verdict} by ${worse.join(', ')}`);
    }
  });
});
