import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import MiniSearch from 'minisearch';
import OpenAI from 'openai';
import { buildGuide, readGuide } from './build.ts';
import { GUIDE, REFERENCE } from './contents.ts';
import { GUIDE_PATH, guideUrl, renderPage } from './markdown.ts';
import { operationsByTag } from './reference.ts';
import { CLIENT_METHODS, sampleValue, toClientCall, toCurl } from './request-example.ts';
import type { Json } from './schema-fields.ts';
import { SEARCH_OPTIONS, splitSections } from './search-index.ts';

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

describe('the contents of the guide', () => {
  it('have every page of docs/use once', () => {
    const pages = globSync('**/*.md', { cwd: join(DOCS, 'use') }).map((file) => file.replace(/\.md$/, ''));
    assert.deepEqual(GUIDE.flatMap((section) => section.pages).toSorted(), pages.toSorted());
  });

  it('have every tag of the API description once, operation last', () => {
    const api = JSON.parse(readFileSync(join(DOCS, 'openapi.json'), 'utf8'));
    const tags = REFERENCE.flatMap((group) => group.tags);
    assert.deepEqual(tags.toSorted(), [...operationsByTag(api).keys()].toSorted());
    assert.equal(tags.at(-1), 'Operation');
  });
});

describe('a page of the guide', () => {
  it('escapes HTML in text, code and links', () => {
    const { html } = renderPage('# A <b>\n\n<script>x</script> `<i>`\n\n```sh\necho "<&>"\n```\n', 'page');
    assert.doesNotMatch(html, /<script|<b>|<i>/);
    assert.match(html, /echo &quot;&lt;&amp;&gt;&quot;/);
  });

  it('numbers equal headings, as GitHub does', () => {
    const { headings } = renderPage('# Keys\n\n## What `is` it?\n\n## What is it?\n\n## Größe, 1.5\n', 'page');
    assert.deepEqual(
      headings.map(({ id }) => id),
      ['keys', 'what-is-it', 'what-is-it-1', 'größe-15'],
    );
  });

  it('links to pages of the guide, and to nothing that only the repository has', () => {
    for (const [href, page, url] of [
      ['models.md', 'install', `${GUIDE_PATH}/models`],
      ['../models.md#open-models', 'tutorials/five-minutes', `${GUIDE_PATH}/models#open-models`],
      ['tutorials/support-bot.md', 'install', `${GUIDE_PATH}/tutorials/support-bot`],
      ['#here', 'install', '#here'],
      ['https://example.com/a.md', 'install', 'https://example.com/a.md'],
      ['../develop/architecture.md', 'install', null],
      ['../../bench/results/start.md#commands', 'cli', null],
      ['../openapi.json', 'install', null],
    ] as const) {
      assert.equal(guideUrl(href, page), url, href);
    }
    const { html } = renderPage('See [the decision](../develop/x.md) and [models](models.md).', 'install');
    assert.equal(html.match(/<a /g)?.length, 1);
    assert.match(html, /the decision/);
  });
});

describe('an example of the API reference', () => {
  const api = JSON.parse(readFileSync(join(DOCS, 'openapi.json'), 'utf8')) as Json;
  const operations = [...operationsByTag(api).values()].flat();

  it('has a body that the schema of its operation accepts', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(api, 'api');
    let bodies = 0;
    for (const { method, path, description } of operations) {
      const body = description['requestBody'] as { content: Record<string, Json> } | undefined;
      const json = body?.content['application/json'];
      if (json === undefined) continue;
      const pointer = `api#/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/${method}/requestBody/content/application~1json/schema`;
      const value = json['example'] ?? sampleValue(api, json['schema'] as Json);
      ajv.validate({ $ref: pointer }, value);
      // Samples do not generate strings that match a pattern, such as tokens.
      const errors = (ajv.errors ?? []).filter(({ keyword }) => keyword !== 'pattern');
      assert.deepEqual(errors, [], `${method} ${path}: ${JSON.stringify(value)}`);
      bodies += 1;
    }
    assert.ok(bodies > 50, `${bodies} bodies`);
  });

  it('calls methods that the OpenAI client has, for operations that exist', () => {
    const client = new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'x' });
    const ids = new Set(operations.map(({ description }) => description['operationId']));
    for (const [id, name] of Object.entries(CLIENT_METHODS)) {
      assert.ok(ids.has(id), id);
      const method = name.split('.').reduce<unknown>((value, key) => (value as Json | undefined)?.[key], client);
      assert.equal(typeof method, 'function', name);
    }
  });

  it('is a command and a call with the ids, the body and the files', () => {
    const request = { operationId: 'x', method: 'post', path: '/v1/a/{a_id}', isPublic: false, isForm: false };
    const body = { text: "it's", list: [{ 'a-b': 1 }] };
    const curl = toCurl({ ...request, body });
    assert.match(curl, /^curl -X POST "http:\S+\/v1\/a\/\$A_ID" .*\n.*Bearer \$QUIRE_API_KEY/);
    assert.match(curl, /"text": "it'\\''s"/);
    const call = toClientCall({ ...request, body }) ?? '';
    assert.match(call, /^await client\.post\(`\/a\/\$\{aId\}`, \{ body: \{\n {2}text: "it's",/);
    assert.match(call, /"a-b": 1/);
    const file = { ...request, operationId: 'createFile', path: '/v1/files', isForm: true, body: { file: '@a.pdf' } };
    assert.equal(toClientCall(file), "await client.files.create({ file: createReadStream('a.pdf') });");
    assert.match(toCurl(file), /-F file=@a\.pdf$/);
    assert.equal(toClientCall({ ...request, path: '/api/chat', body }), null);
  });
});

describe('the built guide', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-guide-'));
    buildGuide(folder);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('has the page and the heading of every link', () => {
    const pages = readGuide().flatMap((group) => group.pages);
    const ids = new Map(
      pages.map(({ path, html }) => [path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
    );
    const broken = pages.flatMap(({ path, html }) =>
      [...html.matchAll(/href="([^"]+)"/g)].flatMap(([, href = '']) => {
        if (!href.startsWith('#') && !href.startsWith(GUIDE_PATH)) return [];
        const [target = '', fragment] = href.startsWith('#')
          ? [path, href.slice(1)]
          : href.slice(GUIDE_PATH.length + 1).split('#');
        const known = ids.get(target);
        const isThere = known !== undefined && (fragment === undefined || known.has(decodeURIComponent(fragment)));
        return isThere ? [] : [`${path}: ${href}`];
      }),
    );
    assert.deepEqual(broken, []);
  });

  it('loads files of its own only', () => {
    const files = globSync('**/*.html', { cwd: folder });
    assert.ok(files.length > 30, `${files.length} pages`);
    for (const file of files) {
      const html = readFileSync(join(folder, file), 'utf8');
      assert.doesNotMatch(html, / style="|<script>| on[a-z]+="/, file);
      for (const [, url = ''] of html.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)) {
        assert.ok(url === '/favicon.svg' || existsSync(join(folder, url.slice(GUIDE_PATH.length))), `${file}: ${url}`);
      }
    }
  });

  it('is searched by words of headings and texts, with their pages', () => {
    const index = MiniSearch.loadJSON(readFileSync(join(folder, 'assets/search.json'), 'utf8'), SEARCH_OPTIONS);
    const first = (query: string) => index.search(query, { prefix: true, combineWith: 'AND' })[0];
    assert.equal(first('lost passwords')?.id, `${GUIDE_PATH}/console#lost-passwords`);
    assert.match(String(first('createRerank rerank documents')?.id ?? first('rerank documents')?.id), /rerank/);
    assert.equal(first('zzzzqqq'), undefined);
  });

  it('has no buttons and no markup in the searched text', () => {
    const page = { path: 'a', ...renderPage('# A\n\nOne `two`.\n\n```sh\nnpm start\n```\n', 'a') };
    assert.deepEqual(splitSections(page), [
      { id: `${GUIDE_PATH}/a`, page: 'A', title: 'A', text: 'One two. npm start' },
    ]);
  });
});
