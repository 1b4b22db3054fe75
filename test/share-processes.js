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
  /mock\.module|node:child_process|node:worker_threads|node:v8/,
  // Observes what the process does while it waits: all files of a group are imported at the same time.
  /^(const .* = )?await /m,
];
/** pdf.js behaves differently once another file has defined classes of the DOM. */
const OWN_PROCESS_FOLDER = 'src/extraction/pdf/';
/** Name of the folder of written test files, without its random end. */
export const GROUP_FOLDER_PREFIX = 'quire-tests-';
/** The tests of client libraries share one service (`useBackends`). */
const CLIENTS_FOLDER = 'test/clients/';

/**
 * Replaces test files by a few files that import them: starting Node and loading modules takes most of the time of a short test
 * file. Each file becomes a suite, so its hooks run for its own tests only. Returns the files to run; `close` deletes the written
 * ones.
 */
export function shareProcesses(files) {
  const clients = files.filter((file) => file.startsWith(CLIENTS_FOLDER));
  const shared = files.filter((file) => !clients.includes(file) && canShareProcess(file));
  const size = Math.ceil(shared.length / GROUPS);
  const folder = mkdtempSync(join(tmpdir(), GROUP_FOLDER_PREFIX));
  const groups = Array.from({ length: GROUPS }, (_, index) =>
    writeGroup(join(folder, `group-${index + 1}.test.mjs`), shared.slice(index * size, (index + 1) * size)),
  );
  const alone = files.filter((file) => !clients.includes(file) && !shared.includes(file));
  return {
    files: [
      writeGroup(join(folder, 'clients.test.mjs'), clients, [`${CLIENTS_FOLDER}backends.ts`]),
      ...groups,
      ...alone,
    ],
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** Writes a test file whose suites are other test files. `imports` are evaluated first, so that their hooks hold for all suites. */
function writeGroup(path, files, imports = []) {
  const urlOf = (file) => JSON.stringify(pathToFileURL(resolve(file)).href);
  const lines = [
    "import { describe } from 'node:test';",
    ...imports.map((file) => `import ${urlOf(file)};`),
    ...files.map((file) => `describe(${JSON.stringify(file)}, () => import(${urlOf(file)}));`),
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

function canShareProcess(file) {
  if (file.startsWith(OWN_PROCESS_FOLDER)) return false;
  const text = readFileSync(file, 'utf8');
  return !OWN_PROCESS.some((pattern) => pattern.test(text));
}
