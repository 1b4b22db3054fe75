import { cpSync, readFileSync } from 'node:fs';

/** Copies the embedded database that the run prepared (`prepare.ts`), if it did, to this folder. */
export function copyTemplate(folder: string): void {
  const template = process.env['QUIRE_TEST_TEMPLATE_FOLDER'];
  if (template !== undefined) cpSync(template, folder, { recursive: true });
}

/** The same as an archive; null when nothing was prepared. */
export function readTemplate(): Blob | null {
  const template = process.env['QUIRE_TEST_TEMPLATE_TAR'];
  return template === undefined ? null : new Blob([readFileSync(template)]);
}
