/** Tests of the rules: each on code that breaks it, and on similar code that does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkBudgets } from './budgets.ts';
import { findCycles } from './cycles.ts';
import { checkDocstrings } from './docstrings.ts';
import { findDuplicateExports } from './duplicate-exports.ts';
import { checkEnvironment } from './environment.ts';
import { checkFastify, checkOrder, checkPackage, checkSubfolderOrder, ORDER } from './imports.ts';
import { checkCommentWidth, checkIdentifiers, checkNames, checkUnfinished } from './names.ts';
import { checkRoutes, findUndescribed } from './routes.ts';
import { type Checker, describeViolation, parseSource } from './source.ts';
import { layoutFolders, sourceFolders } from './tree.ts';
import { checkAny, checkNonNull } from './types.ts';
import { findUnusedMessages } from './unused-messages.ts';

/** Returns the violations of a file, each as `line rule`. */
function found(check: Checker, path: string, text: string): string[] {
  return check(parseSource(path, text)).map((violation) => describeViolation(violation).slice(path.length + 1));
}

/** Asserts that the checker finds exactly one violation, which matches the pattern. */
function assertFound(check: Checker, path: string, text: string, expected: RegExp): void {
  const all = found(check, path, text);
  assert.equal(all.length, 1, `${path}: ${JSON.stringify(all)}`);
  assert.match(all[0] ?? '', expected);
}

const lines = (count: number): string => '\n'.repeat(count);

describe('checkSubfolderOrder', () => {
  it('refuses upward imports between ordered subfolders, and a subfolder without a place', () => {
    const path = 'src/knowledge-bases/jobs/a.ts';
    assertFound(checkSubfolderOrder, path, "import '../ingestion/b.ts';", /'jobs' imports 'ingestion'/);
    assertFound(checkSubfolderOrder, 'src/knowledge-bases/drawer/a.ts', '', /'drawer' has no place/);
  });

  it('accepts downward imports, and files of the folder itself', () => {
    for (const text of ["import './b.ts';", "import '../tables.ts';", "import '../../lib/ids.ts';"]) {
      assert.deepEqual(found(checkSubfolderOrder, 'src/knowledge-bases/jobs/a.ts', text), []);
    }
    assert.deepEqual(found(checkSubfolderOrder, 'src/knowledge-bases/routes.ts', "import './grounding/b.ts';"), []);
  });
});

describe('findCycles', () => {
  const describeCycles = (files: Record<string, string>) =>
    findCycles(Object.entries(files).map(([path, text]) => parseSource(path, text))).map(
      ({ folder, entries }) => `${folder}: ${entries.join(' ')}`,
    );

  it('finds circles of files, of folders, and around three entries, of types too', () => {
    assert.deepEqual(
      describeCycles({
        'src/a/x.ts': "import '../b/y.ts'; import type { Z } from './z.ts';",
        'src/a/z.ts': "import './w.ts';",
        'src/a/w.ts': "import './x.ts';",
        'src/b/y.ts': "export * from '../a/z.ts';",
        'console/src/k/page.tsx': "import './row.ts';",
        'console/src/k/row.ts': "import type { Page } from './page.tsx';",
      }),
      ['src: a b', 'src/a: w.ts x.ts z.ts', 'console/src/k: page.tsx row.ts'],
    );
  });

  it('accepts a tree, and what only tests import', () => {
    assert.deepEqual(
      describeCycles({
        'src/a/x.ts': "import '../b/y.ts'; import './z.ts';",
        'src/a/z.ts': "import '../b/y.ts';",
        'src/b/y.ts': '',
        'src/b/y.test.ts': "import '../a/x.ts';",
        'console/src/a/x.tsx': "import './y.ts';",
      }),
      [],
    );
  });
});

describe('findDuplicateExports', () => {
  const describeDuplicates = (files: Record<string, string>) =>
    findDuplicateExports(Object.entries(files).map(([path, text]) => parseSource(path, text))).map(
      ({ name, paths }) => `${name}: ${paths.join(' ')}`,
    );

  it('finds functions, classes, types, interfaces and constants', () => {
    for (const declaration of ['function A() {}', 'class A {}', 'type A = 1;', 'interface A {}', 'const A = 1;']) {
      const files = { 'src/a/x.ts': `export ${declaration}`, 'src/b/y.ts': 'export async function* A() {}' };
      assert.deepEqual(describeDuplicates(files), ['A: src/a/x.ts src/b/y.ts'], declaration);
    }
  });

  it('accepts a value with its type, re-exports, local names, and names of tests', () => {
    assert.deepEqual(
      describeDuplicates({
        'src/a/x.ts': 'export const A = 1; export type A = typeof A;',
        'src/a/y.ts': "export { A } from './x.ts'; const B = 1; export const C = B;",
        'src/a/z.ts': 'const A = 1; const B = A; export const D = B;',
        'src/a/x.test.ts': 'export const A = 1;',
        'test/x.ts': 'export const A = 1;',
      }),
      [],
    );
  });
});

describe('checkPackage', () => {
  const path = 'packages/json-schema-grammar/src/schema/a.ts';
  it('refuses files of the service and of other packages, and libraries outside of tests', () => {
    assertFound(checkPackage, path, "import { a } from '../../../../src/errors.ts';", /imports '..\/..\/..\/..\/src/);
    assertFound(checkPackage, path, "import { a } from '../../../other/src/a.ts';", /from outside packages/);
    assertFound(checkPackage, path, "import { Ajv } from 'ajv';", /imports 'ajv'/);
    const test = path.replace('.ts', '.test.ts');
    assertFound(checkPackage, test, "import { a } from '../../../../test/harness.ts';", /from outside packages/);
    assert.deepEqual(found(checkPackage, test, "import { Ajv } from 'ajv';"), []);
  });
  it('accepts its own files and modules of Node', () => {
    assert.deepEqual(found(checkPackage, path, "import '../b.ts'; import 'node:fs'; import '../../test/gbnf.ts';"), []);
    assert.deepEqual(found(checkPackage, 'src/chat/a.ts', "import { a } from '@quire/json-schema-grammar';"), []);
  });
});

describe('checkOrder', () => {
  const refused: [path: string, text: string, rule: RegExp][] = [
    ['src/db/db.ts', "import { a } from '../http/auth.ts';", /^1 'db' \(level 1\) imports 'http' \(level 5\)/],
    ['src/db/db.ts', "\nimport type { A } from '../chat/schema.ts';", /^2 'db' .* imports 'chat'/],
    ['src/lib/ids.ts', "export { a } from '../db/db.ts';", /'lib' .* imports 'db'/],
    ['src/lib/ids.ts', "export * from '../db/db.ts';", /'lib' .* imports 'db'/],
    ['src/http/auth.ts', "const a = await import('../chat/chunks.ts');", /'http' .* imports 'chat'/],
    ['src/http/auth.ts', "type A = import('../app.ts').AppDeps;", /'http' .* imports 'app'/],
    ['src/chat/a.ts', "import { a } from '../completions/chunks.ts';", /'chat' imports 'completions', its sibling/],
    ['src/engines/llama/a.ts', "import { a } from '../../db/db.ts';", /'engines' imports 'db', its sibling/],
    ['src/deps.ts', "import { a } from './http/auth.ts';", /'deps' \(level 4\) imports 'http'/],
    ['src/chat/a.ts', "import { a } from '../drawer/a.ts';", /'drawer', which has no place/],
    ['src/drawer/a.ts', '', /^1 'drawer' has no place/],
    ['src/chat/a.ts', "import { a } from '../../test/harness.ts';", /src\/ imports test\/harness.ts/],
    ['console/src/ui/a.tsx', "import { a } from '../keys/key.tsx';", /^1 'ui' \(level 1\) imports 'keys' \(level 7\)/],
    ['console/src/api/a.ts', "import { a } from '../ui/fact.tsx';", /'api' .* imports 'ui'/],
    ['console/src/people/a.tsx', "import { a } from '../files/a.tsx';", /'people' imports 'files', its sibling/],
    ['console/src/pages/a.tsx', '', /^1 'pages' has no place/],
    [
      'console/src/keys/a.ts',
      "import { a } from '../../../src/lib/ids.ts';",
      /console\/src\/ imports src\/lib\/ids.ts/,
    ],
  ];
  for (const [path, text, rule] of refused) {
    it(`refuses ${text.trim() || 'a folder without a place'} in ${path}`, () =>
      assertFound(checkOrder, path, text, rule));
  }

  const accepted: [path: string, text: string][] = [
    ['src/chat/start-chat.ts', "import { a } from '../inference/admission.ts';\nimport { b } from './chunks.ts';"],
    ['src/engines/llama/engine/host.ts', "import { a } from '../engine.ts';\nimport { b } from '../../lib/ids.ts';"],
    ['src/health/routes.ts', "import { a } from '../http/auth.ts';\nimport { b } from '../engines/registry.ts';"],
    ['src/config/config.ts', "import { a } from './lib/logger.ts';\nimport { b } from './config-settings.ts';"],
    ['src/cli/serve.ts', "import { a } from '../boot/boot.ts';\nimport { b } from '../app.ts';"],
    ['src/main.ts', "import { a } from './cli/commands.ts';\nimport fs from 'node:fs';"],
    ['src/db/db.test.ts', "import { a } from '../../test/harness.ts';\nimport { b } from '../app.ts';"],
    ['console/src/keys/a.tsx', "import { a } from '../usage/a.ts';\nimport { b } from '../ui/fact.tsx';"],
    ['console/src/router.tsx', "import { a } from './keys/key.tsx';"],
    ['console/src/keys/a.test.ts', "import { a } from '../../../test/support/awkward.ts';"],
  ];
  for (const [path, text] of accepted) {
    it(`accepts the imports of ${path}`, () => assert.deepEqual(found(checkOrder, path, text), []));
  }

  it('has each name once', () => {
    const names = ORDER.flat();
    assert.equal(new Set(names).size, names.length);
  });
});

describe('checkFastify', () => {
  it('refuses it in a use case, its types and its plugins too', () => {
    assertFound(
      checkFastify,
      'src/chat/start-chat.ts',
      "import type { FastifyReply } from 'fastify';",
      /imports 'fastify'/,
    );
    assertFound(checkFastify, 'src/worker.ts', "import cors from '@fastify/cors';", /imports '@fastify\/cors'/);
  });
  it('accepts it in http/, app.ts and routes.ts', () => {
    for (const path of ['src/http/auth.ts', 'src/http/idempotency/store.ts', 'src/app.ts', 'src/chat/routes.ts']) {
      assert.deepEqual(found(checkFastify, path, "import fastify from 'fastify';"), []);
    }
  });
});

describe('checkBudgets', () => {
  const body = (count: number): string => `() => {${lines(count - 1)}}`;

  it('refuses a function of 61 lines, in tests and components too, and accepts one of 60', () => {
    assertFound(checkBudgets, 'src/lib/a.ts', `\nconst a = ${body(61)};`, /^2 function of 61 lines/);
    assertFound(checkBudgets, 'src/lib/a.test.ts', `it('does', ${body(61)});`, /function of 61 lines/);
    assertFound(checkBudgets, 'console/src/ui/a.tsx', `const a = ${body(61)};`, /function of 61 lines/);
    assertFound(checkBudgets, 'src/lib/a.ts', `class A { run() {${lines(60)}} }`, /function of 61 lines/);
    assert.deepEqual(found(checkBudgets, 'src/lib/a.ts', `const a = ${body(60)};`), []);
  });
  it('does not count what only groups tests', () => {
    assert.deepEqual(found(checkBudgets, 'src/lib/a.test.ts', `describe('a', ${body(90)});`), []);
    assert.deepEqual(found(checkBudgets, 'src/lib/a.test.ts', `describe.only('a', ${body(90)});`), []);
    const suite = (count: number) => `function suite(a: 1) {${lines(count)} describe('a', ${body(90)}); }`;
    assert.deepEqual(found(checkBudgets, 'test/a.ts', suite(10)), []);
    assertFound(checkBudgets, 'test/a.ts', suite(70), /function of 70 lines/);
  });
  it('refuses a file of 401 lines and a test of 501', () => {
    assertFound(
      checkBudgets,
      'src/lib/a.ts',
      `const a = 1;${lines(400)}const b = 2;`,
      /^1 file of 401 lines, at most 400/,
    );
    assertFound(
      checkBudgets,
      'test/a.ts',
      `const a = 1;${lines(500)}const b = 2;`,
      /^1 file of 501 lines, at most 500/,
    );
    assert.deepEqual(found(checkBudgets, 'src/lib/a.ts', `const a = 1;${lines(399)}const b = 2;\n`), []);
  });
  it('refuses five parameters, in signatures too', () => {
    const five = '(a: 1, b: 1, c: 1, d: 1, ...e: 1[])';
    for (const text of [`function f${five} {}`, `const f = ${five} => 1;`, `class A { m${five} {} }`]) {
      assertFound(checkBudgets, 'src/lib/a.ts', text, /5 parameters, at most 4/);
    }
    assertFound(checkBudgets, 'src/lib/a.ts', `interface A { m${five}: void }`, /5 parameters/);
    assertFound(checkBudgets, 'src/lib/a.ts', `type A = ${five} => void;`, /5 parameters/);
    assert.deepEqual(found(checkBudgets, 'src/lib/a.ts', 'function f(this: 1, a: 1, b: 1, c: 1, d: 1) {}'), []);
  });
});

describe('checkAny', () => {
  it('refuses any without a reason on the line above', () => {
    assertFound(checkAny, 'test/a.ts', 'const a: number[] = [];\nconst b: any[] = [];', /^2 any$/);
    assertFound(checkAny, 'src/lib/a.ts', '// biome-ignore lint/suspicious/noExplicitAny:\nlet a: any;', /^2 any$/);
    assertFound(checkAny, 'src/lib/a.ts', 'const a = 1 as unknown as any;', /any/);
  });
  it('accepts any with one, and the word elsewhere', () => {
    const text =
      "// biome-ignore lint/suspicious/noExplicitAny: what came over the wire.\nlet a: any;\nconst b = 'any';";
    assert.deepEqual(found(checkAny, 'src/lib/a.ts', text), []);
  });
});

describe('checkNonNull', () => {
  it('refuses it outside tests', () => {
    assertFound(checkNonNull, 'src/lib/a.ts', 'const b = a\n  .x!.y;', /^2 non-null/);
    assertFound(checkNonNull, 'bench/a.ts', 'a[0]!;', /non-null/);
  });
  it('accepts it in tests, and negations anywhere', () => {
    assert.deepEqual(found(checkNonNull, 'src/lib/a.test.ts', 'a!.x;'), []);
    assert.deepEqual(found(checkNonNull, 'src/lib/a.ts', 'if (!a || b !== c) d();'), []);
  });
});

describe('checkEnvironment', () => {
  const reads = [
    'process.env;',
    "process['env'].HOME;",
    'globalThis.process.env;',
    'const { env } = process;',
    'const { env: e } = process;',
    "import { env } from 'node:process';",
    "import { env as e } from 'process';",
  ];
  for (const text of reads) {
    it(`refuses ${text}`, () => assertFound(checkEnvironment, 'src/boot/boot.ts', text, /^1 process\.env outside/));
  }
  it('accepts it in src/config/config.ts, tests and benchmarks, and what only looks like it', () => {
    for (const path of ['src/config/config.ts', 'test/harness.ts', 'src/config/config.test.ts', 'bench/run.ts']) {
      assert.deepEqual(found(checkEnvironment, path, 'process.env;'), []);
    }
    assert.deepEqual(found(checkEnvironment, 'src/boot/boot.ts', 'process.argv; options.env; // process.env'), []);
  });
});

describe('checkNames', () => {
  it('refuses drawers and what is not kebab-case', () => {
    assertFound(checkNames, 'src/utils/ids.ts', '', /^1 the name 'utils' does not say/);
    assertFound(checkNames, 'src/chat/helper.test.ts', '', /'helper'/);
    assertFound(checkNames, 'src/chat/base.ts', '', /'base'/);
    assertFound(checkNames, 'src/chat/startChat.ts', '', /'startChat' is not kebab-case/);
    assertFound(checkNames, 'src/chat_parts/a.ts', '', /'chat_parts' is not kebab-case/);
  });
  it('accepts words that contain one', () => {
    for (const path of [
      'src/engines/upstream/base-url.ts',
      'drizzle.config.ts',
      'src/lib/utf8-pieces.test.ts',
      'test/start.slow.test.ts',
    ]) {
      assert.deepEqual(found(checkNames, path, ''), []);
    }
  });
});

describe('checkIdentifiers', () => {
  it('refuses participles and functions without a verb', () => {
    assertFound(
      checkIdentifiers,
      'src/chat/a.ts',
      'const a = 1;\nfor (const found of []) a;',
      /^2 'found' does not say/,
    );
    assertFound(checkIdentifiers, 'console/src/ui/a.tsx', 'const kindOf = (a: string) => a;', /'kindOf'/);
    assertFound(checkIdentifiers, 'packages/a/src/a.ts', 'function titleOf() {}', /'titleOf'/);
  });
  it('accepts verbs, properties, keywords of JSON Schema, and tests', () => {
    assert.deepEqual(
      found(checkIdentifiers, 'src/chat/a.ts', 'const a = { found: 1 }; function anyOf() {} const isPartOf = a.found;'),
      [],
    );
    assert.deepEqual(found(checkIdentifiers, 'src/chat/a.test.ts', 'const found = 1; const kindOf = () => found;'), []);
  });
});

describe('checkCommentWidth', () => {
  const wide = (start: string, columns = 121): string => start.padEnd(columns, 'x');
  it('refuses wide comments of every form', () => {
    assertFound(checkCommentWidth, 'src/lib/a.ts', `const a = 1;\n${wide('  // ')}`, /^2 a comment is wider/);
    assertFound(checkCommentWidth, 'src/lib/a.ts', `/**\n * a\n${wide(' * ')}\n */`, /^3 a comment is wider/);
  });
  it('accepts 120 columns, code with a comment, URLs, and strings', () => {
    const texts = [wide('// ', 120), wide('const a = 1; // '), wide('// https://'), `const a = \`\n${wide('// ')}\`;`];
    for (const text of texts) assert.deepEqual(found(checkCommentWidth, 'src/lib/a.ts', text), []);
  });
});

describe('checkUnfinished', () => {
  it('refuses the marks in comments and nowhere else', () => {
    for (const mark of ['TODO', 'FIXME', 'XXX']) {
      assertFound(checkUnfinished, 'src/lib/a.ts', `const a = 1;\n/** One.\n * ${mark}: two */`, /^3 a comment says/);
    }
    assert.deepEqual(found(checkUnfinished, 'src/lib/a.ts', "const a = 'TODO'; // todos"), []);
  });
});

describe('checkDocstrings', () => {
  const undocumented = [
    'export function f() {}',
    'export async function f() {}',
    'export class f {}',
    'export interface f {}',
    'export type f = string;',
    'export const f = () => 1;',
    '// A comment.\nexport const f = function () {};',
    '/* A comment. */\nexport function f() {}',
    '/** Of another. */\nconst a = 1;\nexport function f() {}',
  ];
  for (const text of undocumented) {
    it(`refuses ${JSON.stringify(text)}`, () => assertFound(checkDocstrings, 'src/lib/a.ts', text, /'f' is exported/));
  }
  it('refuses what the console exports without one', () =>
    assertFound(checkDocstrings, 'console/src/ui/a.tsx', 'export function A() {}', /'A' is exported/));
  it('accepts a docstring directly above, what is derived, and what is not exported', () => {
    const texts = [
      '/** Does. */\nexport function f() {}',
      '/** Does. */\n\nexport type F = string;',
      '/** Does. */\n// biome-ignore lint/suspicious/noExplicitAny: because.\nexport function f(): any {}',
      'export type F = Static<typeof F>;\nexport type Row = typeof rows.$inferSelect;',
      'const f = () => 1;\nexport { f };\nexport const LIMIT = 5;',
    ];
    for (const text of texts) assert.deepEqual(found(checkDocstrings, 'src/lib/a.ts', text), []);
    assert.deepEqual(found(checkDocstrings, 'test/a.ts', 'export function f() {}'), []);
  });
});

describe('findUnusedMessages', () => {
  const text =
    "export const useKeyMessages = defineMessages({\n  title: ['a', 'b'],\n  states: {\n    on: ['c', 'd'],\n  },\n});\n";
  const find = (path: string, code: string) =>
    findUnusedMessages([parseSource('console/src/keys/messages.ts', text), parseSource(path, code)]);
  const fill = "import { useKeyMessages } from './messages.ts';\nconst keys = useKeyMessages();\n";

  it('finds texts that no file shows, and none of a group that is shown', () => {
    const path = 'console/src/keys/messages.ts';
    assert.deepEqual(find('console/src/keys/a.ts', fill), [
      `${path} useKeyMessages.title`,
      `${path} useKeyMessages.states`,
    ]);
    assert.deepEqual(find('console/src/keys/a.ts', `${fill}keys.title;`), [`${path} useKeyMessages.states`]);
    assert.deepEqual(find('console/src/keys/a.ts', `${fill}keys.title; keys.states[name];`), []);
  });

  it('accepts a name beside an indexed variable, and reads only files that import the texts', () => {
    assert.deepEqual(find('console/src/keys/a.ts', `${fill}for (const each of ['title', 'states']) keys[each];`), []);
    assert.equal(find('console/src/usage/a.ts', `${fill}keys.title; keys.states;`).length, 2);
    assert.equal(find('console/src/usage/a.ts', `${fill}keys.title; keys.states;`.replace("'.", "'../keys")).length, 0);
  });
});

describe('checkRoutes', () => {
  const schema = "summary: 'a', tags: ['A'], response: { 200: A }";

  it('refuses a route without what describes it', () => {
    const routes: [text: string, rule: RegExp][] = [
      ["app.get('/a', async () => 1);", /^1 GET \/a has no schema$/],
      ["app.post('/a', { config: {} }, run);", /POST \/a has no schema$/],
      ["app.get('/a', { schema: { summary: 'a' } }, run);", /has no tags, response$/],
      [`app.get('/a', { schema: { ${schema}, hide: true } }, run);`, /has no place in the description/],
      ["app.route({ method: 'GET', url: '/a' });", /the route has no schema$/],
    ];
    for (const [text, rule] of routes) assertFound(checkRoutes, 'src/chat/routes.ts', text, rule);
  });
  it('accepts described routes, and calls that are no routes', () => {
    const texts = [`app.get('/a', { schema: { ${schema} } }, run);`, "map.get('a'); map.delete('/'.length);"];
    for (const text of texts) assert.deepEqual(found(checkRoutes, 'src/chat/routes.ts', text), []);
    const own = "app.get('/openapi.json', { schema: { hide: true } }, run);";
    assert.deepEqual(found(checkRoutes, 'src/http/openapi.ts', own), []);
  });
  it('finds the same in a description', () => {
    const error = { $ref: '#/components/responses/Error' };
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/A' } } };
    const responses = { 200: { headers: { 'x-request-id': {} }, content }, 500: error };
    const whole = { operationId: 'getA', summary: 'a', tags: ['A'], responses };
    const inline = { content: { 'application/json': { schema: { type: 'object' } } } };
    const paths = {
      '/a': { get: whole, put: { ...whole, requestBody: inline }, post: { responses: { '4xx': error } } },
    };
    assert.deepEqual(findUndescribed({ paths }), [
      'PUT /a has no operation id of its own, named schema, error 400, error 413, error 415',
      'POST /a has no summary, tags, operation id of its own, response, error 500',
    ]);
  });
});

describe('the layout block', () => {
  it('names folders by their indentation', () => {
    const page =
      'Text\n```\nsrc/\n  main.ts  starts\n  http/  knows Fastify/Node\n    idempotency/\n  chat/\n```\nlib/';
    assert.deepEqual(layoutFolders(page), ['src/chat', 'src/http', 'src/http/idempotency']);
  });
  it('is compared with the folders that hold code', () => {
    const paths = ['src/main.ts', 'src/engines/llama/engine/host.ts', 'test/harness.ts'];
    assert.deepEqual(sourceFolders(paths), ['src/engines', 'src/engines/llama', 'src/engines/llama/engine']);
  });
});
