import PostalMime, { type Address, type Attachment } from 'postal-mime';
import { readAllBytes } from '../content.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { invalidFile, MAX_WHOLE_TEXT_BYTES } from '../limits.ts';
import type { PartReader } from '../parts.ts';
import { type Mail, writeMail } from './write-mail.ts';

/** Maximum nesting of MIME parts. */
const MAX_NESTING = 100;
/** A mail has at least one of these headers. */
const USUAL_HEADERS: ReadonlySet<string> = new Set(['from', 'to', 'date', 'subject', 'received', 'message-id']);
/** Extensions of attachments without a name, by media type. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'message/rfc822': '.eml',
  'text/plain': '.txt',
  'text/html': '.html',
};

/** Reads a mail (RFC 5322 with MIME). Mails within it are attachments. */
export async function* readEml(input: ReaderInput, parts: PartReader): AsyncGenerator<Extraction> {
  const bytes = await readAllBytes(input, MAX_WHOLE_TEXT_BYTES);
  const options = { forceRfc822Attachments: true, maxNestingDepth: MAX_NESTING };
  const email = await PostalMime.parse(bytes, options).catch((error: unknown) => {
    throw invalidFile('The mail is damaged, or its parts are nested too deep.', error);
  });
  if (!email.headers.some(({ key }) => USUAL_HEADERS.has(key)))
    throw invalidFile('The file is not a mail: it has no sender, recipient, date or subject.');
  const mail: Mail = {
    subject: email.subject ?? null,
    from: email.from === undefined ? null : formatAddress(email.from),
    to: (email.to ?? []).map(formatAddress),
    cc: (email.cc ?? []).map(formatAddress),
    date: email.date ?? null,
    text: email.text ?? null,
    html: email.html === undefined ? null : Buffer.from(email.html),
    attachments: email.attachments.map(toAttachment),
  };
  yield { part: '', document: await writeMail(mail, input, parts) };
}

function formatAddress({ name, address, group }: Address): string {
  if (group !== undefined) return `${name}: ${group.map(formatAddress).join(', ')}`;
  return name && name !== address ? `${name} <${address}>` : (address ?? '');
}

function toAttachment(attachment: Attachment, i: number) {
  const { filename, mimeType, content, disposition, related, contentId } = attachment;
  const name = filename || `attachment-${i + 1}${EXTENSIONS[mimeType] ?? ''}`;
  const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
  const isInline = related === true || disposition === 'inline' || contentId !== undefined;
  return { name, mediaType: mimeType, content: bytes, isInline };
}
