import { posix } from 'node:path';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { DocumentWarning } from '../document-warning.ts';
import type { ExtractedDocument, ExtractedText, ReaderInput } from '../extracted-document.ts';
import { flattenMetadata, normalizeTitle } from '../flatten-metadata.ts';
import { documentFormat } from '../formats.ts';
import { IngestionError } from '../ingestion-error.ts';
import { describeSkipped, type NestedFile, type PartReader, writeBlocks, writeSection } from '../parts.ts';
import { parseText } from '../read-text.ts';
import { TextWriter } from '../text-writer.ts';

/** Maximum attachments of a mail that are read. */
const MAX_ATTACHMENTS = 1_000;
/** Maximum warnings of attachments that a mail repeats. */
const MAX_WARNINGS = 20;
/** Content of encrypted mails. */
const ENCRYPTED = /^application\/(?:pgp-encrypted|(?:x-)?pkcs7-mime)$/;
/** Signatures, which are no documents. */
const SIGNATURE = /^application\/(?:x-)?(?:pkcs7|pgp)-signature$/;

/** A mail as its format contains it. */
export interface Mail {
  subject: string | null;
  from: string | null;
  to: string[];
  cc: string[];
  /** Any notation that `Date` parses. */
  date: string | null;
  text: string | null;
  html: Uint8Array | null;
  attachments: readonly (NestedFile & { isInline: boolean })[];
}

/**
 * Writes a mail: the subject as heading, sender, recipients and date, the text, or else the page, and each attachment
 * below the heading of its name. Skips pictures within the page and signatures.
 */
export async function writeMail(mail: Mail, input: ReaderInput, parts: PartReader): Promise<ExtractedDocument> {
  const hasText = Boolean(mail.text?.trim()) || mail.html !== null;
  if (!hasText && mail.attachments.some(({ mediaType }) => ENCRYPTED.test(mediaType ?? '')))
    throw new IngestionError('encrypted_file', 'The mail is encrypted.');
  const writer = new TextWriter();
  const { from, to, cc } = mail;
  const sent = new Date(mail.date ?? '');
  const date = Number.isNaN(sent.valueOf()) ? null : sent.toISOString();
  const subject = normalizeTitle(mail.subject);
  const header = Object.entries({ From: from, To: to.join(', '), Cc: cc.join(', '), Date: date })
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${collapseWhitespace(value ?? '')}`);
  if (subject !== null) writer.write('heading', subject, { level: 1 });
  writer.write('paragraph', header.join('\n'));
  writeBlocks(writer, { level: 1 }, await readBody(mail));
  const warnings = await writeAttachments(writer, mail, input, parts);
  const metadata = flattenMetadata({ from, ...(to.length > 0 && { to }), ...(cc.length > 0 && { cc }), date });
  return { ...writer.finish(), title: subject, metadata, ...(warnings.length > 0 && { warnings }) };
}

async function readBody({ text, html }: Mail): Promise<ExtractedText> {
  if (text?.trim() || html === null) return parseText(text ?? '');
  // Imported on demand: the HTML parser is large.
  const { parseWholePage } = await import('../html/read-html.ts');
  return parseWholePage(html, null);
}

/** Returns warnings about attachments that cannot be read. */
async function writeAttachments(
  writer: TextWriter,
  { attachments }: Mail,
  input: ReaderInput,
  parts: PartReader,
): Promise<DocumentWarning[]> {
  const skipped: string[] = [];
  const others: DocumentWarning[] = [];
  let count = 0;
  for (const attachment of attachments) {
    const { name, mediaType, isInline, content } = attachment;
    if ((isInline && mediaType?.startsWith('image/')) || SIGNATURE.test(mediaType ?? '')) continue;
    count += 1;
    if (documentFormat(name, mediaType) === null) {
      skipped.push(posix.extname(name) || mediaType || 'no extension');
      continue;
    }
    if (count > MAX_ATTACHMENTS) {
      skipped.push(`more than ${MAX_ATTACHMENTS}`);
      continue;
    }
    const error = parts.reserve(1, content.length);
    if (error !== null) {
      skipped.push(error.code);
      continue;
    }
    for await (const extraction of parts.read(attachment, input)) {
      if ('error' in extraction) skipped.push(extraction.error.code);
      else {
        const title = [name, extraction.part].filter((one) => one !== '').join('/');
        writeSection(writer, { title, level: 2 }, extraction.document);
        others.push(...(extraction.document.warnings ?? []));
      }
    }
  }
  return [...describeSkipped(skipped, 'Attachments'), ...others.slice(0, MAX_WARNINGS)];
}
