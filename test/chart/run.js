/**
 * `npm run test:chart`: renders the chart of deploy/helm with Helm and validates the manifests. Installs Helm and the
 * schemas of Kubernetes first (`npm ci` in this folder). Prometheus' `promtool` checks the rules where it is installed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { requireNode24 } from '../../src/boot/require-node.js';

requireNode24();

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
if (!existsSync(new URL('node_modules', import.meta.url))) {
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: 'inherit' });
}
const root = new URL('../..', import.meta.url);
const runInRoot = (...args) => spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
// The type check of the package leaves these files out, because their imports are installed here only.
const areTypesRight = runInRoot('node_modules/typescript/bin/tsc', '-p', 'test/chart');
const files = ['chart.test.ts', 'alerts.test.ts'].map((name) => `${FOLDER}${name}`);
const haveTestsPassed = runInRoot('--test', ...files);
process.exitCode = areTypesRight && haveTestsPassed ? 0 : 1;
