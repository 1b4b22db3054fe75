/** Archives of knowledge bases as tests take them apart, change and build them. */
import { createHash } from 'node:crypto';
import { TarReader, tarEnd, tarHeader, tarPadding } from '../src/lib/tar.ts';
import { encodeForm, sendForm } from './forms.ts';
import type { Answer } from './harness.ts';

/** An entry of an archive; `name` without checksum and extension. */
export interface ArchiveEntry {
  name: string;
  extension: string;
  content: Buffer;
}

/** Takes an archive apart. */
export async function splitArchive(bytes: Buffer): Promise<ArchiveEntry[]> {
  const reader = new TarReader(toChunks(bytes));
  const entries: ArchiveEntry[] = [];
  for (let next = await reader.next(); next !== null; next = await reader.next()) {
    const [name = '', , extension = ''] = next.name.split('.');
    entries.push({ name, extension, content: Buffer.concat(await Array.fromAsync(reader.content())) });
  }
  return entries;
}

/** Builds an archive with right checksums. */
export function joinArchive(entries: readonly ArchiveEntry[]): Buffer {
  const parts = entries.flatMap(({ name, extension, content }) => {
    const hash = createHash('sha256').update(content).digest('hex');
    return tarFile(`${name}.${hash}.${extension}`, content);
  });
  return Buffer.concat([...parts, tarEnd()]);
}

/** An entry with any name. */
export const tarFile = (name: string, content: Buffer): Buffer[] => [
  tarHeader({ name, bytes: content.length }, new Date(0)),
  content,
  tarPadding(content.length),
];

/** Changes the JSON of the first entry whose name matches. */
export function changeJson(
  entries: readonly ArchiveEntry[],
  name: RegExp,
  // biome-ignore lint/suspicious/noExplicitAny: tests change single fields.
  change: (value: any) => unknown,
): ArchiveEntry[] {
  const at = entries.findIndex((entry) => entry.extension === 'json' && name.test(entry.name));
  return entries.map((entry, i) => {
    if (i !== at) return entry;
    const value = JSON.parse(entry.content.toString());
    return { ...entry, content: Buffer.from(JSON.stringify(change(value) ?? value)) };
  });
}

/** Sends an archive to `POST /v1/knowledge-bases/import`. */
export async function sendArchive(
  { url, key }: { url: string; key: string | null },
  archive: Buffer,
  fields: Record<string, string> = {},
): Promise<Answer> {
  const parts = [
    ...Object.entries(fields).map(([name, content]) => ({ name, content })),
    { name: 'file', filename: 'base.tar', content: archive },
  ];
  return sendForm(`${url}/v1/knowledge-bases/import`, encodeForm(parts), { key }) as Promise<Answer>;
}

async function* toChunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += 1000) yield bytes.subarray(from, from + 1000);
}
