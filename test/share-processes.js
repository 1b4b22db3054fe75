import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Groups of test files that share a process; more than the cores, so that the last one ends with the other files. */
const GROUPS = 8;

/** What a test file needs a process of its own for: services that it starts, and state of the whole process. */
const OWN_PROCESS = [
  /spawned-service|browser-globals/,
  // Facts of the process may be read, and an exit handler disturbs nobody.
  /\bprocess\.(?!pid\b|platform\b|geteuid\b|ts\b|once\('exit')\w/,
  /\bglobalThis\b/,
  /mock\.module|node:v8/,
  // Observes what the process does while it waits: all files of a group are imported at the same time.
  /^(const .* = )?await /m,
];
/** pdf.js behaves differently once another file has defined classes of the DOM. */
const PDF_FOLDER = 'src/extraction/pdf/';
/** Name of the folder of written test files, without its random end. */
export const GROUP_FOLDER_PREFIX = 'quire-tests-';
/** The tests of client libraries share one service (`useBackends`). */
const CLIENTS_FOLDER = 'test/clients/';

/**
 * Replaces test files by a few files that import them: starting Node and loading modules takes most of the time of a
 * short test file. Each file becomes a suite, so its hooks run for its own tests only. Returns the files to run;
 * `close` deletes the written ones.
 */
export function shareProcesses(files) {
  const folder = mkdtempSync(join(tmpdir(), GROUP_FOLDER_PREFIX));
  const isIn = (prefix) => (file) => file.startsWith(prefix);
  const [clients, pdf] = [files.filter(isIn(CLIENTS_FOLDER)), files.filter(isIn(PDF_FOLDER))];
  const others = files.filter((file) => !clients.includes(file) && !pdf.includes(file));
  const shared = others.filter(canShareProcess);
  const size = Math.ceil(shared.length / GROUPS);
  const groups = Array.from({ length: GROUPS }, (_, index) => shared.slice(index * size, (index + 1) * size));
  return {
    files: [
      writeGroup(join(folder, 'clients.test.mjs'), clients, [`${CLIENTS_FOLDER}backends.ts`]),
      ...[...groups, pdf].map((group, index) => writeGroup(join(folder, `group-${index + 1}.test.mjs`), group)),
      ...others.filter((file) => !shared.includes(file)),
    ],
    close: () => rmSync(folder, { recursive: true }),
  };
}

/**
 * Writes a test file whose suites are other test files. `imports` are evaluated first, so that their hooks hold for all
 * suites.
 */
function writeGroup(path, files, imports = []) {
  const toUrl = (file) => pathToFileURL(resolve(file)).href;
  const lines = [
    `import { describeFiles } from '${new URL('./describe-files.js', import.meta.url).href}';`,
    ...imports.map((file) => `import '${toUrl(file)}';`),
    `describeFiles(${JSON.stringify(Object.fromEntries(files.map((file) => [file, toUrl(file)])))});`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

function canShareProcess(file) {
  const text = readFileSync(file, 'utf8');
  return !OWN_PROCESS.some((pattern) => pattern.test(text));
}
