import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import type { TObject } from 'typebox';
import { ChatRequest } from '../src/chat/schema.ts';
import { CompletionRequest } from '../src/completions/schema.ts';
import { EmbeddingsRequest } from '../src/embeddings/schema.ts';
import { createBundledEmbedding } from '../src/engines/bundled/bundled-embedding.ts';
import { createBundledModeration } from '../src/engines/bundled/bundled-moderation.ts';
import { createBundledRerank } from '../src/engines/bundled/bundled-rerank.ts';
import { describeNulls } from '../src/http/null-fields.ts';
import { ModerationRequest } from '../src/moderations/schema.ts';
import { RerankBody } from '../src/rerank/schema.ts';
import { CreateResponse } from '../src/responses/schema.ts';
import { type Answer, bindCatalogue, useApi } from './harness.ts';

/** Expected outcome of an input: status 200, or the code and `param` of a 400. */
type Wanted = 200 | readonly [code: string, param: string];

/** A route with texts: how a body is built, and what proves that each text was read. */
interface Route {
  path: string;
  bodyOf(texts: string | readonly unknown[]): object;
  /** Field of the texts. */
  field: string;
  /** Texts per request. */
  most: number;
  /** Result of each text by index; equal for equal texts. */
  outcomes(answer: Answer): unknown[];
}

const EMBEDDINGS: Route = {
  path: '/v1/embeddings',
  bodyOf: (input) => ({ model: 'embed-large-en-v1.5', input, encoding_format: 'base64' }),
  field: 'input',
  most: 2048,
  outcomes: ({ json }) =>
    json.data.map(({ embedding }: { embedding: string }) => {
      const bytes = Uint8Array.from(Buffer.from(embedding, 'base64'));
      const length = Math.hypot(...new Float32Array(bytes.buffer));
      assert.ok(Math.abs(length - 1) < 1e-5, `a vector of length ${length}`);
      return embedding;
    }),
};
const MODERATIONS: Route = {
  path: '/v1/moderations',
  bodyOf: (input) => ({ input }),
  field: 'input',
  most: 1024,
  outcomes: ({ json }) =>
    json.results.map(({ category_scores: scores }: { category_scores: Record<string, number> }) => {
      for (const score of Object.values(scores)) assert.ok(score >= 0 && score <= 1, JSON.stringify(scores));
      return scores;
    }),
};

const WORD = 'unbelievable ';
/** Unusual but valid texts, which must be accepted alone and beside others. */
const ODD: Readonly<Record<string, string>> = {
  emoji: '😀👩‍👩‍👧‍👦🏳️‍🌈',
  'one emoji': '👍🏽',
  'a null byte': 'before\u0000after',
  'nothing but null bytes': '\u0000\u0000',
  'control characters': '\u0001\u0002\u001b[31m\u007f',
  Arabic: 'المكتبة تفتح في التاسعة',
  Hebrew: 'הספרייה נפתחת בתשע',
  'text turned around': '\u202egnorw si siht\u202c',
  Japanese: '図書館は九時に開きます。',
  Chinese: '图书馆九点开门。',
  Korean: '도서관은 아홉 시에 문을 엽니다.',
  Thai: 'ห้องสมุดเปิดเก้าโมง',
  'zero-width characters': '\u200b\u200d\ufeff',
  'marks upon marks': `a${'\u0301'.repeat(500)}`,
  'beyond the first plane': '𝕳𝖊𝖑𝖑𝖔 𓀀 𠜎',
  'unassigned and private': '\u{e000}\u{10ffff}\u0378',
  punctuation: '?!...---',
  'a byte order mark first': '\ufeffThe library opens at nine.',
  'line ends of every kind': 'one\rtwo\r\nthree\u2028four\u0085five',
  'what is code elsewhere': '<|im_start|>system {{constructor}} ../../etc/passwd \'; DROP TABLE "x"; --',
};

describe('bad input to embedding, rerank and moderation models', () => {
  const embedding = createBundledEmbedding(BUNDLED_MODELS.embedding);
  const moderation = createBundledModeration(BUNDLED_MODELS.moderation);
  const rerank = createBundledRerank(BUNDLED_MODELS.rerank);
  after(() => Promise.all([embedding, moderation, rerank].map((engine) => engine.close())));
  const engines: Readonly<Record<string, object>> = {
    'embed-large-en-v1.5': { embedding },
    'moderation-v1': { moderation },
    'reranker-v2-m3': { rerank },
  };
  const api = useApi({
    models: (engine) => bindCatalogue(engine).map((model) => ({ ...model, ...engines[model.id] })),
  });

  const send = (route: Route, texts: string | readonly unknown[]): Promise<Answer> =>
    api.send('POST', route.path, { body: route.bodyOf(texts) });
  const assertWanted = (answer: Answer, wanted: Wanted, shown: string): void => {
    const told = `${shown}: ${answer.status} ${answer.text.slice(0, 300)}`;
    if (wanted === 200) {
      assert.equal(answer.status, 200, told);
      return;
    }
    const { code, param } = answer.json?.error ?? {};
    assert.deepEqual([answer.status, code, param], [400, ...wanted], told);
    assert.ok(answer.text.length < 2_000, 'an error does not echo what was sent');
  };

  for (const route of [EMBEDDINGS, MODERATIONS]) {
    const { path, field, most } = route;

    it(`${path}: 200 for text of every script and for odd characters, the same alone and beside others`, async () => {
      const texts = Object.values(ODD);
      const together = await send(route, texts);
      assertWanted(together, 200, 'all');
      const outcomes = route.outcomes(together);
      assert.equal(outcomes.length, texts.length);
      for (const [at, [name, text]] of Object.entries(ODD).entries()) {
        const alone = await send(route, text);
        assertWanted(alone, 200, name);
        assert.deepEqual(route.outcomes(alone), [outcomes[at]], name);
      }
    });

    const isListed = route === EMBEDDINGS ? 'embedded in a list' : '400 in a list, naming the first';
    it(`${path}: texts that are empty or blank, in whatever way: 400 alone, ${isListed}`, async () => {
      for (const text of ['', ' ', '\n\t\r', '\u00a0\u3000\u2003', '\ufeff']) {
        const shown = JSON.stringify(text);
        assertWanted(await send(route, text), ['invalid_value', field], shown);
        const listed: Wanted = route === EMBEDDINGS ? 200 : ['invalid_value', `${field}.1`];
        assertWanted(await send(route, [WORD, text, '']), listed, shown);
      }
    });

    it(`${path}: 400 for token ids, and for what is no text, wherever it stands`, async () => {
      for (const value of [[1, 2, 3], [[1, 2], [3]], [0.5], [[]]]) {
        const { status, json } = await send(route, value);
        assert.equal(status, 400, JSON.stringify(value));
        assert.equal(json.error.code, 'invalid_value');
        assert.match(json.error.param, new RegExp(`^${field}(\\.0)?$`));
      }
      for (const value of [null, true, ['a']]) {
        assertWanted(await send(route, ['a', value]), ['invalid_value', `${field}.1`], JSON.stringify(value));
      }
      // Only moderation takes objects, with a type.
      const untyped: Wanted =
        route === MODERATIONS ? ['missing_required_field', `${field}.1.type`] : ['invalid_value', `${field}.1`];
      for (const value of [{}, { text: 'a' }]) {
        assertWanted(await send(route, ['a', value]), untyped, JSON.stringify(value));
      }
      assertWanted(await send(route, 'half of \ud83d'), ['invalid_value', field], 'a lone surrogate');
      assertWanted(await send(route, ['a', '\udc00']), ['invalid_value', `${field}.1`], 'a lone surrogate');
    });

    it(`${path}: ${most.toLocaleString('en')} texts are read, and one more is a 400`, async () => {
      const texts = Array.from({ length: most }, (_, at) => `${WORD}${at}`);
      const answer = await send(route, texts);
      assertWanted(answer, 200, 'the most');
      assert.equal(route.outcomes(answer).length, most);
      assertWanted(await send(route, [...texts, 'a']), ['invalid_value', field], 'one more');
      assertWanted(await send(route, []), ['invalid_value', field], 'none');
    });
  }

  it('/v1/embeddings: 2,048 tokens are read, and one more is a 400 that says how many there may be', async () => {
    const words = (count: number): string => 'the '.repeat(count);
    assertWanted(await send(EMBEDDINGS, words(2048)), 200, '2,048');
    const refused = await send(EMBEDDINGS, words(2049));
    assertWanted(refused, ['token_limit_exceeded', 'input'], '2,049');
    assert.match(refused.json.error.message, /2,?048/);
    assertWanted(
      await send(EMBEDDINGS, ['a', words(2049)]),
      ['token_limit_exceeded', 'input.1'],
      '2,049 beside others',
    );
  });

  it('a megabyte of one word is a 400 where tokens are limited, and is read where they are not', async () => {
    for (const text of ['a'.repeat(1_000_000), '語'.repeat(1_000_000), '😀'.repeat(250_000)]) {
      const shown = `${text.slice(0, 4)}...`;
      assertWanted(await send(EMBEDDINGS, ['a', text]), ['token_limit_exceeded', 'input.1'], shown);
      assertWanted(await send(MODERATIONS, ['a', text]), 200, shown);
    }
    // Combining marks are not words.
    for (const route of [EMBEDDINGS, MODERATIONS])
      assertWanted(await send(route, '\u0301'.repeat(1_000_000)), 200, 'marks');
  });

  /** Scores of documents in order, all between 0 and 1. */
  const rank = async (query: string, documents: readonly string[]): Promise<number[]> => {
    const body = { model: 'reranker-v2-m3', query, documents, return_documents: false };
    const answer = await api.send('POST', '/v1/rerank', { body });
    assertWanted(answer, 200, query.slice(0, 100));
    const results = answer.json.results as { index: number; relevance_score: number }[];
    assert.equal(results.length, documents.length);
    return results
      .toSorted((a, b) => a.index - b.index)
      .map(({ relevance_score: score }) => {
        assert.ok(score >= 0 && score <= 1, String(score));
        return score;
      });
  };

  it('/v1/rerank: 200 for queries and documents of every script and of odd characters, each as it is alone', async () => {
    const texts = [...Object.values(ODD), '', ' \u3000'];
    for (const query of Object.values(ODD)) {
      const together = await rank(query, texts);
      assert.deepEqual(together.slice(-2), [0, 0], 'what has no text is not relevant');
      assert.deepEqual(await rank(query, texts.slice(3, 4)), together.slice(3, 4));
    }
  });

  it('/v1/rerank: 400 for a query that is blank in whatever way, and for half a character anywhere', async () => {
    const ask = (query: unknown, documents: unknown): Promise<Answer> =>
      api.send('POST', '/v1/rerank', { body: { model: 'reranker-v2-m3', query, documents } });
    for (const query of ['', ' ', '\u00a0\u3000', '\ufeff']) {
      assertWanted(await ask(query, ['a']), ['invalid_value', 'query'], JSON.stringify(query));
    }
    assertWanted(await ask('half \ud83d', ['a']), ['invalid_value', 'query'], 'a lone surrogate');
    assertWanted(await ask('a', ['b', '\udc00']), ['invalid_value', 'documents.1'], 'a lone surrogate');
    assertWanted(await ask([1, 2], ['a']), ['invalid_value', 'query'], 'token ids');
    assertWanted(await ask('a', [[1, 2]]), ['invalid_value', 'documents.0'], 'token ids');
  });

  it('/v1/rerank: a megabyte of one word is read, as a document and as the query', async () => {
    for (const text of ['a'.repeat(1_000_000), 'word '.repeat(200_000), '語'.repeat(1_000_000)]) {
      const [nothing, long] = await rank('When does it open?', ['', text]);
      assert.ok(nothing === 0 && long !== undefined);
      await rank(text, ['The library opens at nine.', text.slice(0, 10)]);
    }
  });

  /** Routes with a body of required fields. Nulls below the first level are those of optional fields, too. */
  const hello = { role: 'user', content: 'Hi' };
  const tool = { name: 'a.b', description: null, parameters: null, strict: null };
  const BODIES: [path: string, schema: TObject, body: object, nested?: object][] = [
    [
      '/v1/chat/completions',
      ChatRequest,
      { model: 'general-8b', messages: [hello], tools: [{ type: 'function', function: { name: 'a.b' } }] },
      {
        messages: [{ ...hello, name: null, tool_calls: null, tool_call_id: null }],
        tools: [{ type: 'function', function: tool }],
      },
    ],
    ['/v1/completions', CompletionRequest, { model: 'general-8b', prompt: 'Hi' }],
    ['/v1/responses', CreateResponse, { model: 'general-8b', input: 'Hi' }],
    ['/v1/embeddings', EmbeddingsRequest, { model: 'embed-large-en-v1.5', input: 'Hi' }],
    ['/v1/moderations', ModerationRequest, { input: 'Hi' }],
    ['/v1/rerank', RerankBody, { model: 'reranker-v2-m3', query: 'Hi', documents: ['Hi', 'Ho'] }],
  ];
  for (const [path, schema, body, nested] of BODIES) {
    it(`${path}: null in every optional field, alone and together, gives the result of a body without them`, async () => {
      const read = async (fields: object) => {
        api.engine.calls.length = 0;
        const { status, text } = await api.send('POST', path, { body: { ...body, ...fields } });
        assert.equal(status, 200, `${JSON.stringify(fields)}: ${text}`);
        const result = text
          .replaceAll(/[_-][0-9a-z]{26}/g, '')
          .replaceAll(/"(created|created_at|completed_at)":\d+/g, '');
        return { result, requests: api.engine.calls.map(({ request }) => request) };
      };
      const { properties = {}, required = [] } = describeNulls(schema);
      const optional = Object.keys(properties).filter((name) => !required.includes(name) && !(name in body));
      const plain = await read({});
      assert.ok(optional.length > 0);
      for (const name of optional) assert.deepEqual(await read({ [name]: null }), plain, name);
      assert.deepEqual(await read({ ...Object.fromEntries(optional.map((name) => [name, null])), ...nested }), plain);
    });
  }

  it('responses are unchanged after all of these requests', async () => {
    for (const route of [EMBEDDINGS, MODERATIONS]) {
      const [first, second] = route.outcomes(await send(route, [WORD, WORD]));
      assert.deepEqual(first, second);
    }
  });
});
