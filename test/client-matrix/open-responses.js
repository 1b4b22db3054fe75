/**
 * `npm run test:open-responses -- --suite FOLDER`: runs the compliance suite of Open Responses against a service whose
 * model is scripted. FOLDER is a clone of openresponses/openresponses in which `npm install` has run. Exits with 1 when
 * a test fails.
 */
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { requireNode24 } from '../../src/boot/require-node.js';

requireNode24();

const { suite } = parseArgs({ options: { suite: { type: 'string' } } }).values;
if (suite === undefined) {
  console.error('Usage: npm run test:open-responses -- --suite FOLDER');
  process.exit(2);
}
// The suite is written for Bun, which resolves imports without extensions.
registerHooks({
  resolve: (specifier, context, next) => {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!specifier.startsWith('.')) throw error;
      return next(`${specifier}.ts`, context);
    }
  },
});

const { prepare } = await import('../prepare.ts');
const prepared = await prepare();
Object.assign(process.env, prepared.environment);
const { startService, BOOTSTRAP_KEY } = await import('../spawned-service.ts');
const { startStubModel } = await import('./stub-model.js');
const { runAllTests } = await import(pathToFileURL(join(resolve(suite), 'src/lib/compliance-tests.ts')).href);

const stub = await startStubModel();
const config = `models:\n  stub:\n    base_urls: ${stub.baseUrl}\n    capabilities: [vision]\n`;
const service = await startService({ config });
const target = {
  baseUrl: `${service.url}/v1`,
  apiKey: BOOTSTRAP_KEY,
  authHeaderName: 'Authorization',
  useBearerPrefix: true,
  model: 'stub',
  runtime: 'server',
};
const results = await runAllTests(target, () => {});
await service.stop();
await stub.close();
await prepared.close();

for (const { status, name, errors = [] } of results) console.log([`${status}: ${name}`, ...errors].join('\n  '));
const passed = results.filter(({ status }) => status === 'passed').length;
console.log(`${passed} of ${results.length} passed`);
process.exitCode = passed === results.length ? 0 : 1;
