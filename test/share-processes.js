import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Groups of test files that share a process; more than the cores, so that the last one ends with the other files. */
const GROUPS = 8;

/** What a test file needs a process of its own for: helpers with a service or a database, and state of the whole process. */
const OWN_PROCESS = [
  /spawned-service|useEmbeddedDatabases|\/backends\.ts|browser-globals/,
  /\bprocess\./,
  /\bglobalThis\b/,
  /mock\.module|node:child_process|node:worker_threads|node:v8|-process\.ts'/,
  // Hooks outside of `describe` would run for the whole group; an import that waits would start tests of other files.
  /^(before|after|beforeEach|afterEach)\(/m,
  /^(const .* = )?await /m,
];
/** pdf.js behaves differently once another file has defined classes of the DOM. */
const OWN_PROCESS_FOLDERS = ['test/', 'src/knowledge-bases/extract/pdf/'];

/**
 * Replaces test files of pure functions by a few files that import them: starting Node and loading modules takes most of their time.
 * Returns the files to run; `close` deletes the written ones.
 */
export function shareProcesses(files) {
  const shared = files.filter(canShareProcess);
  const folder = mkdtempSync(join(tmpdir(), 'quire-tests-'));
  const size = Math.ceil(shared.length / GROUPS);
  const groups = Array.from({ length: GROUPS }, (_, index) => {
    const group = join(folder, `group-${index + 1}.test.mjs`);
    const members = shared.slice(index * size, (index + 1) * size);
    writeFileSync(group, members.map((file) => `import '${pathToFileURL(resolve(file)).href}';\n`).join(''));
    return group;
  });
  const alone = files.filter((file) => !shared.includes(file));
  return { files: [...groups, ...alone], close: () => rmSync(folder, { recursive: true }) };
}

function canShareProcess(file) {
  if (OWN_PROCESS_FOLDERS.some((folder) => file.startsWith(folder))) return false;
  const text = readFileSync(file, 'utf8');
  return !OWN_PROCESS.some((pattern) => pattern.test(text));
}
