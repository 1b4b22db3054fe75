import { decompressRTF } from '@kenjiuno/decompressrtf';
import msgReader, { type FieldsData } from '@kenjiuno/msgreader';
import iconv from 'iconv-lite';
import { readAllBytes } from '../content.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { invalidFile, MAX_WHOLE_TEXT_BYTES } from '../limits.ts';
import type { PartReader } from '../parts.ts';
import { parseRtf } from '../rtf/read-rtf.ts';
import { type Mail, writeMail } from './write-mail.ts';

// A CommonJS module without named exports.
const MsgReader = msgReader.default;

/** Offsets of the sector counts in the header. A count is at most the number of sectors that fit into the file. */
const SECTOR_COUNTS = [44, 64, 72];
const HEADER_BYTES = 512;
/** Steps along sector chains that every file may need. */
const MIN_STEPS = 10_000;
/** Maximum bytes of a compressed body, which is decompressed as an array of numbers. */
const MAX_RTF_BYTES = 4_194_304;

/** The part of the library that reads compound files ([MS-CFB]). */
interface CompoundFile {
  getNextBlockInner(offset: number, table: readonly number[]): number;
  createPropertyHierarchy(entries: readonly CompoundEntry[], entry: CompoundEntry): void;
}

interface CompoundEntry {
  previousProperty: number;
  nextProperty: number;
  childProperty: number;
}

interface Person {
  name?: string | undefined;
  email?: string | undefined;
  smtpAddress?: string | undefined;
}

/** Reads an Outlook item (.msg): a mail, and the text of appointments, contacts and tasks. */
export async function* readMsg(input: ReaderInput, parts: PartReader): AsyncGenerator<Extraction> {
  const { reader, fields } = await openMsg(input);
  const { attachments = [], recipients = [] } = fields;
  const list = (type: string) => recipients.filter(({ recipType }) => recipType === type).map(formatPerson);
  const { senderName, senderSmtpAddress, senderEmail } = fields;
  const from = formatPerson({ name: senderName, smtpAddress: senderSmtpAddress, email: senderEmail });
  const mail: Mail = {
    subject: fields.subject ?? null,
    from: from || null,
    to: list('to'),
    cc: list('cc'),
    date: fields.messageDeliveryTime ?? fields.clientSubmitTime ?? null,
    ...readBodies(fields),
    attachments: attachments.map((attachment) => {
      const { fileName, content } = reader.getAttachment(attachment);
      const name = fileName ?? attachment.fileNameShort ?? attachment.name ?? 'attachment';
      const isInline = attachment.pidContentId !== undefined || attachment.attachmentHidden === true;
      return { name, mediaType: attachment.attachMimeTag ?? null, content, isInline };
    }),
  };
  yield { part: '', document: await writeMail(mail, input, parts) };
}

/** Throws as `readMsg` does for damaged files. */
export async function checkMsg(input: ReaderInput): Promise<void> {
  await openMsg(input);
}

async function openMsg(input: ReaderInput) {
  const bytes = Buffer.from(await readAllBytes(input, MAX_WHOLE_TEXT_BYTES));
  if (bytes.length < HEADER_BYTES || SECTOR_COUNTS.some((at) => bytes.readUInt32LE(at) > bytes.length / HEADER_BYTES))
    throw damaged();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = createReader(view, null);
  const fields = reader.getFileData();
  if (fields.dataType === null) throw damaged();
  // Texts that are not Unicode are in the code page that one of the properties names.
  const codePage = `cp${fields.messageCodepage ?? fields.internetCodepage}`;
  if (!iconv.encodingExists(codePage)) return { reader, fields };
  const localized = createReader(view, codePage);
  return { reader: localized, fields: localized.getFileData() };
}

/**
 * Creates a reader that throws `invalid_file` for cycles in the sector chains or the directory of the compound file,
 * which the library would follow without end.
 */
function createReader(view: DataView, ansiEncoding: string | null) {
  const reader = new MsgReader(view);
  if (ansiEncoding !== null) reader.parserConfig = { ansiEncoding };
  const file = reader['reader'] as unknown as CompoundFile;
  const { getNextBlockInner, createPropertyHierarchy } = file;
  let steps = 0;
  file.getNextBlockInner = (...step) => {
    steps += 1;
    if (steps > MIN_STEPS + view.byteLength) throw damaged();
    return getNextBlockInner.apply(file, step);
  };
  file.createPropertyHierarchy = (entries, entry) => {
    // An entry is referred to once: as the sibling before or after another, or as the first of a storage.
    const references = entries.flatMap((one) => [one.previousProperty, one.nextProperty, one.childProperty]);
    const indexes = references.filter((index) => index > 0);
    if (new Set(indexes).size < indexes.length) throw damaged();
    file.createPropertyHierarchy = createPropertyHierarchy;
    createPropertyHierarchy.call(file, entries, entry);
  };
  return reader;
}

function damaged() {
  return invalidFile('The file is not a complete Outlook item.');
}

/** The text of an item; its page, or else its RTF, without one. */
function readBodies({ body, html, bodyHtml, compressedRtf }: FieldsData): Pick<Mail, 'text' | 'html'> {
  const page = html ?? (bodyHtml === undefined ? null : Buffer.from(bodyHtml));
  if (body?.trim() || page !== null) return { text: body ?? null, html: page };
  return { text: compressedRtf === undefined ? null : readCompressedRtf(Buffer.from(compressedRtf)), html: null };
}

function readCompressedRtf(bytes: Buffer): string | null {
  // The library reads as many bytes as the header declares.
  if (bytes.length < 16 || bytes.length > MAX_RTF_BYTES || bytes.readUInt32LE(0) + 4 > bytes.length) return null;
  return parseRtf(Buffer.from(decompressRTF([...bytes]))).text;
}

function formatPerson({ name, email, smtpAddress }: Person): string {
  // Addresses within an Exchange server are no mail addresses.
  const address = [smtpAddress, email].find((one) => one?.includes('@'));
  if (!name || name === address) return address ?? '';
  return address === undefined ? name : `${name} <${address}>`;
}
