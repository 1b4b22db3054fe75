/** `file_search` in OpenAI's form, as the built-in tools of the SDKs send it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { assertError, assertSchema } from '../../test/harness.ts';
import { LIBRARY, POOL, useTown } from '../../test/town.ts';
import { ResponseResource } from './schema.ts';

describe("file_search in OpenAI's form", () => {
  const town = useTown();
  const { api, openai, play } = town;

  const search = async (tool: object) => {
    play();
    const body = { model: 'general-8b', input: 'When?', tools: [{ type: 'file_search', ...tool }] };
    return api.send('POST', '/v1/responses', { body });
  };
  const texts = ({ results }: { results: { text: string }[] }) => results.map(({ text }) => text).toSorted();

  it('searches the knowledge bases that vector_store_ids names, with either prefix, and shows the tool as it was sent', async () => {
    for (const id of [town.base, town.base.replace('kb_', 'vs_')]) {
      const { status, json, text } = await search({ vector_store_ids: [id] });
      assert.equal(status, 200, text);
      assertSchema(ResponseResource, json);
      assert.deepEqual(texts(json.output[0]), [LIBRARY, POOL]);
      assert.deepEqual(json.tools, [
        {
          type: 'file_search',
          vector_store_ids: [id],
          max_num_results: 10,
          ranking_options: { ranker: 'auto', score_threshold: 0 },
          filters: null,
        },
      ]);
      assert.deepEqual((await api.send('GET', `/v1/responses/${json.id}`)).json, json);
    }
  });

  it('honours max_num_results, score_threshold and filters; ignores the ranker', async () => {
    const words = (type: string, value: unknown) => ({ type, key: 'words', value });
    const team = { type: 'eq', key: 'team', value: "a' OR 'b" };
    for (const [settings, found] of [
      [{ max_num_results: 1 }, 1],
      [{ max_num_results: null, ranking_options: null, filters: null }, 2],
      [{ ranking_options: { score_threshold: 1, ranker: 'default-2024-11-15' } }, 0],
      [{ ranking_options: { ranker: 'none', hybrid_search: { embedding_weight: 1, text_weight: 0 } } }, 2],
      [{ filters: words('lt', 10) }, [LIBRARY]],
      [{ filters: words('in', [7, 99]) }, [LIBRARY]],
      [{ filters: words('nin', [7, 99]) }, [POOL]],
      [{ filters: words('ne', 7) }, [POOL]],
      [{ filters: { type: 'and', filters: [words('gt', 3), words('lte', 7)] } }, [LIBRARY]],
      [{ filters: { type: 'or', filters: [words('eq', 7), words('gte', 12)] } }, 2],
      [{ filters: { type: 'and', filters: [{ type: 'or', filters: [words('eq', 7), team] }, words('gt', 9)] } }, 0],
      [{ filters: team }, 0],
    ] as const) {
      const { status, json, text } = await search({ vector_store_ids: [town.base], ...settings });
      assert.equal(status, 200, text);
      const shown = texts(json.output[0]);
      if (typeof found === 'number') assert.equal(shown.length, found, JSON.stringify(settings));
      else assert.deepEqual(shown, found, JSON.stringify(settings));
    }
  });

  it('400 and 404 that name the field', async () => {
    const nested = { file_search: { knowledge_base_ids: [town.base] } };
    const filters = (value: unknown) => ({ filters: value });
    const eq = { type: 'eq', key: 'a', value: 1 };
    const deep = [1, 2, 3, 4].reduce((inner: object) => ({ type: 'and', filters: [inner] }), eq);
    const rejected: [settings: object, param: string, code?: string][] = [
      [{ vector_store_ids: [] }, 'vector_store_ids'],
      [nested, 'vector_store_ids'],
      [{ max_num_results: 51 }, 'max_num_results'],
      [{ ranking_options: { score_threshold: 1.5 } }, 'ranking_options.score_threshold'],
      [filters({ type: 'like', key: 'a', value: 1 }), 'filters.type'],
      [filters({ type: 'eq', value: 1 }), 'filters.key', 'missing_required_field'],
      [filters({ type: 'eq', key: 'a' }), 'filters.value', 'missing_required_field'],
      [filters({ type: 'eq', key: 'a', value: [1] }), 'filters.value'],
      [filters({ type: 'in', key: 'a', value: 1 }), 'filters.value'],
      [filters({ type: 'gt', key: 'a', value: 'x' }), 'filters.value'],
      [filters({ type: 'and' }), 'filters.filters', 'missing_required_field'],
      [filters({ type: 'or', filters: [] }), 'filters.filters'],
      [filters({ type: 'or', filters: [eq, 'x'] }), 'filters.filters.1'],
      [filters({ type: 'or', filters: [eq, { key: 'a' }] }), 'filters.filters.1.type', 'missing_required_field'],
      [filters(deep), 'filters.filters.0.filters.0.filters.0.filters.0'],
      [filters({ type: 'and', filters: Array(64).fill({ type: 'or', filters: [eq, eq] }) }), 'filters'],
    ];
    for (const [settings, field, code = 'invalid_value'] of rejected) {
      const answer = await search({ vector_store_ids: [town.base], ...settings });
      assertError(answer, 400, code, `tools.0.${field}`);
    }
    const unknown = await search({ vector_store_ids: [town.base, 'vs_01kaj3v0b8s4x2m6n9p1q5r7t3'] });
    assertError(unknown, 404, 'knowledge_base_not_found', 'tools.0.vector_store_ids.1');
    assertError(await search({}), 400, 'missing_required_field', 'tools.0.file_search');
  });

  it('the client of OpenAI gets results and citations', async () => {
    const { responses } = new OpenAI(openai());
    const tools = [{ type: 'file_search' as const, vector_store_ids: [town.base] }];
    const params = { model: 'general-8b', input: 'When?', tools, include: ['file_search_call.results' as const] };
    for (const send of [() => responses.create(params), () => responses.stream(params).finalResponse()]) {
      play();
      const [call, message] = (await send()).output;
      assert.ok(call?.type === 'file_search_call' && message?.type === 'message');
      assert.equal(call.results?.length, 2);
      const [part] = message.content;
      assert.ok(part?.type === 'output_text' && part.annotations[0]?.type === 'file_citation');
    }
  });
});
