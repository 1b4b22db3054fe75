import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { GROUP_FOLDER_PREFIX } from './share-processes.js';

const PRINTED = 10;

/**
 * Reporter of `node:test` that prints the slowest test files of a run with their seconds. Writes the paths of the files
 * whose process failed to the file `QUIRE_FAILED_FILES`. It does so at the end, so a run that breaks off writes none.
 */
export default async function* reportFiles(events) {
  const seconds = new Map();
  const failed = [];
  for await (const { type, data } of events) {
    if (type !== 'test:complete' || data.nesting !== 0) continue;
    // A test file ends as a test without `entryFile`. In a process that several files share, each one is a suite with
    // its path.
    const isFile = data.entryFile === undefined;
    if (isFile && !data.details.passed) failed.push(data.name);
    if ((isFile ? data.name : data.entryFile).includes(GROUP_FOLDER_PREFIX) === isFile) continue;
    seconds.set(isFile ? relative('.', data.name) : data.name, data.details.duration_ms / 1000);
  }
  const slowest = [...seconds].toSorted(([, a], [, b]) => b - a).slice(0, PRINTED);
  yield `\nSlowest of ${seconds.size} test files:\n`;
  for (const [file, duration] of slowest) yield `${duration.toFixed(1).padStart(7)} s  ${file}\n`;
  writeFileSync(process.env.QUIRE_FAILED_FILES, failed.join('\n'));
}
