import { parse } from 'yaml';
import { cleanText, inOneLine } from '../../lib/clean-text.ts';
import type { DocumentMetadata } from '../documents/metadata.ts';
import { MAX_HEADING_CHARACTERS, MAX_WHOLE_TEXT_BYTES } from './bounds.ts';
import { wholeContent } from './content.ts';
import { decodeText } from './decode.ts';
import type { ExtractedDocument, ReadJob, ReadPart } from './extracted-document.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import { flatMetadata, titleOf } from './metadata.ts';
import { requireLength } from './text-writer.ts';

/** Between lines of three dashes, before everything else. */
const FRONT_MATTER = /^---[^\S\n]*\n([\s\S]*?)\n(?:---|\.\.\.)[^\S\n]*(?:\n|$)/;
/** References to anchors: a few are common, many are an attack. */
const MAX_ALIASES = 100;

/** Reads Markdown (CommonMark, with tables). */
export async function* readMarkdown(job: ReadJob): AsyncGenerator<ReadPart> {
  yield { part: '', document: parseMarkdown(decodeText(await wholeContent(job, MAX_WHOLE_TEXT_BYTES), job.charset)) };
}

/**
 * A Markdown document: its text is the source behind the front matter, whose fields are the metadata. The title is that of the front
 * matter, else the first heading of level 1.
 */
export function parseMarkdown(source: string): ExtractedDocument {
  const { metadata, text } = withoutFrontMatter(cleanText(source));
  requireLength(text.length);
  const blocks = markdownBlocks(text);
  const { title, ...rest } = metadata;
  const heading = blocks.find(
    ({ kind, level, start, end }) => kind === 'heading' && level === 1 && end - start <= MAX_HEADING_CHARACTERS,
  );
  const named = heading && inOneLine(text.slice(heading.start, heading.end)).replace(/^#+\s*|\s*#*(?:\s*=+)?$/g, '');
  return { text, blocks, title: titleOf(title) ?? titleOf(named), metadata: rest };
}

function withoutFrontMatter(text: string): { metadata: DocumentMetadata; text: string } {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? [];
  if (whole === '') return { metadata: {}, text };
  try {
    const fields: unknown = parse(yaml, { maxAliasCount: MAX_ALIASES, logLevel: 'error' });
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { metadata: {}, text };
    return { metadata: flatMetadata(fields), text: text.slice(whole.length) };
  } catch {
    // Lines between dashes that are no YAML are the author's text.
    return { metadata: {}, text };
  }
}
