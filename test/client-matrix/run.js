/**
 * `npm run test:clients`: runs the test files of this folder, then each client library, and the clients that are
 * generated from the API description, against a service. Installs them first (`npm ci` in this folder). `--write`
 * writes the table to docs/use/clients.md.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { requireNode24 } from '../../src/boot/require-node.js';

requireNode24();

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const PAGE = new URL('../../docs/use/clients.md', import.meta.url);
const FEATURES = ['chat', 'stream', 'tools', 'structured', 'embeddings', 'errors'];
/** A feature that takes longer hangs. */
const TIMEOUT_MS = 60_000;

if (!existsSync(new URL('node_modules', import.meta.url))) {
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: 'inherit' });
}
const runInRoot = (...args) =>
  spawnSync(process.execPath, args, { cwd: new URL('../..', import.meta.url), stdio: 'inherit' }).status === 0;
// The type check of the package leaves these files out, because their imports are installed here only.
const areTypesRight = runInRoot('node_modules/typescript/bin/tsc', '-p', 'test/client-matrix');
const haveTestsPassed = runInRoot('test/run.js', ...globSync(`${FOLDER}*.test.ts`));

const { prepare } = await import('../prepare.ts');
const prepared = await prepare();
Object.assign(process.env, prepared.environment);
const { startService, BOOTSTRAP_KEY } = await import('../spawned-service.ts');
const { startStubModel } = await import('./stub-model.js');
const { CLIENTS } = await import('./clients.js');
const { GENERATED_CLIENT } = await import('./generated-client.js');
const { tryPythonClients } = await import('./python-clients.js');

const stub = await startStubModel();
const service = await startService({ config: `models:\n  stub:\n    base_urls: ${stub.baseUrl}\n` });
const context = {
  url: service.url,
  baseURL: `${service.url}/v1`,
  apiKey: BOOTSTRAP_KEY,
  model: 'stub',
  embedder: 'embed-large-en-v1.5',
};
const rows = [];
for (const client of [...CLIENTS, GENERATED_CLIENT]) rows.push(await tryClient(client));
const python = await tryPythonClients(context);
rows.push(...python.rows);
await service.stop();
await stub.close();
await prepared.close();

const table = renderTable(rows);
console.log(table);
for (const line of python.skipped) console.log(line);
if (process.argv.includes('--write')) writePage(table);
const failures = rows.flatMap(({ name, results }) =>
  results.filter(({ error }) => error).map(({ feature, error }) => `${name}, ${feature}: ${error.stack ?? error}`),
);
for (const failure of failures) console.error(`\n${failure}`);
// Some libraries keep timers and sockets open.
process.exit(failures.length === 0 && areTypesRight && haveTestsPassed ? 0 : 1);

async function tryClient(client) {
  const results = [];
  for (const feature of FEATURES) {
    if (client[feature] === undefined) continue;
    results.push({ feature, error: await tryFeature(() => client[feature](context)) });
  }
  return { name: client.name, results };
}

async function tryFeature(run) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), TIMEOUT_MS);
  });
  try {
    await Promise.race([run(), timeout]);
    return null;
  } catch (error) {
    return error ?? new Error('rejected without a reason');
  } finally {
    clearTimeout(timer);
  }
}

function renderTable(clients) {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const cell = (results, feature) => {
    const result = results.find((each) => each.feature === feature);
    return result === undefined ? '-' : result.error === null ? 'yes' : 'NO';
  };
  const lines = clients.map(({ name, results, version: ownVersion }) => {
    const versions = Object.keys(dependencies).filter((dependency) => name.split(' ').includes(dependency));
    const passed = results.filter(({ error }) => error === null).length;
    const version = ownVersion ?? versions.map((dependency) => dependencies[dependency]).join(', ');
    return [name, version, ...FEATURES.map((feature) => cell(results, feature)), `${passed} of ${results.length}`];
  });
  const head = ['Client', 'Version', ...FEATURES, 'Passed'];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function writePage(rendered) {
  const page = readFileSync(PAGE, 'utf8');
  const [before, after] = ['<!-- table -->', '<!-- end of table -->'];
  const start = page.indexOf(before) + before.length;
  writeFileSync(PAGE, `${page.slice(0, start)}\n\n${rendered}\n\n${page.slice(page.indexOf(after))}`);
}
