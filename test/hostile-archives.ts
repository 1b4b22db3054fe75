/** Archives that the service could not have written, made from one that it wrote. */
import { decodeChunks, encodeChunks } from '../src/knowledge-bases/archive/chunk-part.ts';
import { tarEnd } from '../src/lib/tar.ts';
import { type ArchiveEntry, changeJson, joinArchive, tarFile } from './archives.ts';

/** An archive, and the error that it must cause. */
type Case = readonly [name: string, bytes: Buffer, message: RegExp];

type Change = Parameters<typeof changeJson>[2];

/** Damages of the container, by an archive with two files and two data sources with documents. */
export function damageContainer(archive: Buffer, entries: readonly ArchiveEntry[]): Case[] {
  const without = (name: string) => joinArchive(entries.filter((entry) => entry.name !== name));
  const broken = Buffer.from(archive);
  broken[broken.indexOf('night bell')] = 0x58;
  const name = `source-1/files/1.${'0'.repeat(64)}.json`;
  const [header] = tarFile(name, Buffer.alloc(0)) as [Buffer];
  const open = (some: readonly ArchiveEntry[]) => joinArchive(some).subarray(0, -1024);
  const extra = (path: string) => Buffer.concat([...tarFile(path, Buffer.from('x')), tarEnd()]);
  return [
    ['no tar', Buffer.from('PK\u0003\u0004 zip '.repeat(100)), /no tar archive/],
    ['empty', Buffer.alloc(0), /truncated/],
    ['truncated in a header', archive.subarray(0, 700), /truncated/],
    ['truncated in a part', archive.subarray(0, archive.length - 5000), /truncated/],
    ['truncated before the end', joinArchive(entries.slice(0, -1)), /truncated/],
    ['damaged', broken, /source-1\/(files\/2 \(its content\)|chunks\/1) of the archive is damaged/],
    ['path traversal', extra('../../etc/passwd'), /entry "\.\.\/\.\.\/etc\/passwd", which is none of its parts/],
    ['absolute path', extra('/etc/passwd'), /none of its parts/],
    ['no manifest', joinArchive(entries.slice(1)), /has no manifest/],
    ['missing file', joinArchive(entries.filter((_, i) => i !== 3 && i !== 4)), /files\/3 of the archive is not the/],
    ['missing chunks', without('source-1/chunks/1'), /documents\/1 .* lacks chunks: source-2\/posts\/1 follows/],
    ['missing content', joinArchive(entries.filter((_, i) => i !== 2)), /files\/1 of the archive has no content/],
    ['another order', joinArchive([...entries.slice(0, -4), ...entries.slice(1, 3)]), /files\/1 .* wrong place/],
    ['after the end', Buffer.concat([open(entries), ...tarFile(name, Buffer.from('{}')), tarEnd()]), /after its end/],
    [
      'huge part',
      Buffer.concat([open(entries.slice(0, 1)), withSize(header, 0o7777777777)]),
      /files\/1 .* larger than/,
    ],
  ];
}

/** Other values of JSON parts. */
export function changeValues(entries: readonly ArchiveEntry[]): Case[] {
  const change = (name: RegExp, edit: Change) => joinArchive(changeJson(entries, name, edit));
  const manifest = (edit: Change) => change(/^manifest/, edit);
  const document = (fields: object) => change(/documents/, ([first, ...rest]) => [{ ...first, ...fields }, ...rest]);
  const cut = entries.map((entry) => (entry.name === 'end' ? { ...entry, content: Buffer.from('{') } : entry));
  return [
    ['version', manifest((m) => ({ ...m, version: 2 })), /version 2 of the format, and .* reads version 1/],
    ['another format', manifest((m) => ({ ...m, format: 'x' })), /manifest of the archive is invalid: 'format'/],
    [
      'unknown type',
      manifest((m) => ({ ...m, data_sources: [{ ...m.data_sources[0], type: 'ftp' }] })),
      /manifest .*data_sources\.0\.type/,
    ],
    [
      'invalid config',
      manifest((m) => ({ ...m, data_sources: [{ ...m.data_sources[0], config: { x: 1 } }] })),
      /invalid data source 1: 'config\.x' is not a field/,
    ],
    [
      'two api sources',
      manifest((m) => ({ ...m, data_sources: [m.data_sources[1], m.data_sources[1]] })),
      /several data sources of the type 'api'/,
    ],
    ['totals', change(/^end/, (end) => ({ ...end, chunks: 1 })), /end of the archive expects/],
    ['JSON', joinArchive(cut), /end of the archive is no valid JSON/],
    ['NUL', document({ name: 'a\u0000b' }), /documents\/1 of the archive contains NUL/],
    ['huge number', document({ bytes: 1e300 }), /documents\/1 of the archive is invalid: '0\.bytes'/],
    ['huge metadata', document({ metadata: { a: 'x'.repeat(70_000) } }), /documents\/1 .* larger than 64 KiB/],
    ['language', document({ language: '__proto__' }), /unknown language '__proto__'/],
    ['twice', change(/documents/, ([first]) => [first, first]), /has a document twice/],
  ];
}

/** Other rows of the first chunks part. */
export function changeChunks(entries: readonly ArchiveEntry[]): Case[] {
  const at = entries.findIndex(({ extension }) => extension === 'arrow');
  const rows = decodeChunks(entries[at]?.content ?? Buffer.alloc(0), '');
  const replaced = (content: Buffer) =>
    joinArchive(entries.map((entry, i) => (i === at ? { ...entry, content } : entry)));
  const changed = (edit: (row: (typeof rows)[number]) => object) =>
    replaced(Buffer.from(encodeChunks(rows.map((row) => ({ ...row, ...edit(row) })))));
  const scaled = (by: number) => changed(({ vector }) => ({ vector: vector?.map((value) => value * by) ?? null }));
  return [
    ['length of a vector', scaled(2), /chunks\/1 of the archive has a vector that is not L2-normalised in row 0/],
    ['NaN', scaled(Number.NaN), /not L2-normalised/],
    ['negative', changed(() => ({ startIndex: -1 })), /invalid number in row 0/],
    ['NUL', changed(() => ({ text: 'a\u0000b' })), /invalid text in row 0/],
    ['owner', changed(() => ({ document: 7 })), /chunks in another order/],
    ['no Arrow', replaced(Buffer.from('ARROW1 no')), /chunks\/1 of the archive (is no valid Arrow|has other columns)/],
  ];
}

/** A header with another size, and its checksum. */
function withSize(header: Buffer, bytes: number): Buffer {
  const changed = Buffer.from(header);
  changed.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  changed.fill(0x20, 148, 156);
  const sum = changed.reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return changed;
}
