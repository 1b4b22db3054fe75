/** Boundaries of the parts of parts. */
const MAX_BOUNDARIES = 16;

/** The page of a web archive (MHTML, RFC 2557): its first part that is HTML, with the encoding that is said of it. Null where there is none. */
export function pageOfWebArchive(archive: Buffer): { bytes: Buffer; charset: string | null } | null {
  const text = archive.toString('latin1');
  const boundaries = [...text.matchAll(/boundary="?([^"\s;]{1,70})"?/gi)].slice(0, MAX_BOUNDARIES);
  let parts = [text];
  for (const [, boundary = ''] of boundaries) parts = parts.flatMap((part) => part.split(`--${boundary}`));
  for (const part of parts) {
    const blank = /\r?\n\r?\n/.exec(part);
    if (blank === null) continue;
    const head = part.slice(0, blank.index).replace(/\r?\n[ \t]+/g, ' ');
    if (!/^content-type:\s*text\/html\b/im.test(head)) continue;
    const encoding = /^content-transfer-encoding:\s*([\w-]+)/im.exec(head)?.[1]?.toLowerCase() ?? '';
    const charset = /charset="?([\w.:-]+)/i.exec(head)?.[1]?.toLowerCase() ?? null;
    return { bytes: decoded(part.slice(blank.index + blank[0].length), encoding), charset };
  }
  return null;
}

/** What a transfer encoding (RFC 2045) stands for. */
function decoded(body: string, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64');
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1');
  const joined = body.replace(/=[ \t]*\r?\n/g, '');
  const bytes = joined.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}
