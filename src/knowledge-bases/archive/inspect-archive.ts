import { PassThrough } from 'node:stream';
import { drained } from '../../http/event-stream.ts';
import { nextSlice } from '../../lib/time-slices.ts';
import type { Manifest } from './format.ts';
import { readArchive } from './read-archive.ts';

/**
 * Passes the bytes of an archive through while it reads and checks all of it, so that an upload is stored only if it
 * can be imported. `onManifest` is called when the manifest has arrived, and may throw. Throws the errors of
 * `readArchive`.
 */
export async function* inspectArchive(
  content: AsyncIterable<Uint8Array>,
  organizationId: string,
  onManifest: (manifest: Manifest) => void,
): AsyncGenerator<Uint8Array> {
  const copy = new PassThrough();
  // The reader destroys it after an error, which `failure` holds.
  copy.on('error', () => {});
  let failure: unknown = null;
  const reading = readAll(copy, organizationId, onManifest).catch((error: unknown) => {
    failure = error;
    copy.destroy();
  });
  try {
    for await (const bytes of content) {
      if (failure !== null) throw failure;
      if (!copy.write(bytes)) await drained(copy);
      yield bytes;
    }
    copy.end();
    await reading;
    if (failure !== null) throw failure;
  } finally {
    copy.destroy();
  }
}

async function readAll(
  bytes: AsyncIterable<Uint8Array>,
  organizationId: string,
  onManifest: (manifest: Manifest) => void,
): Promise<void> {
  for await (const part of readArchive(bytes)) {
    if (part.type === 'manifest') onManifest(part.manifest);
    // Reading checks the content.
    if (part.type === 'file') for await (const _ of part.content);
    await nextSlice(organizationId);
  }
}
