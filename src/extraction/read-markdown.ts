import { parse } from 'yaml';
import { cleanText, collapseWhitespace } from '../lib/clean-text.ts';
import { readAllBytes } from './content.ts';
import { decodeText } from './decode.ts';
import type { DocumentMetadata } from './document-metadata.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from './extracted-document.ts';
import { flattenMetadata, normalizeTitle } from './flatten-metadata.ts';
import { MAX_HEADING_CHARACTERS, MAX_WHOLE_TEXT_BYTES } from './limits.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import { checkTextLength } from './text-writer.ts';

const FRONT_MATTER = /^---[^\S\n]*\n([\s\S]*?)\n(?:---|\.\.\.)[^\S\n]*(?:\n|$)/;
/** Maximum YAML aliases; more are an expansion attack. */
const MAX_ALIASES = 100;

/** Reads Markdown (CommonMark with tables). */
export async function* readMarkdown(input: ReaderInput): AsyncGenerator<Extraction> {
  const source = decodeText(await readAllBytes(input, MAX_WHOLE_TEXT_BYTES), input.charset);
  yield { part: '', document: parseMarkdown(source) };
}

/**
 * Parses a Markdown document. Its text is the source after the front matter, so that citations match it exactly; the
 * front matter is the metadata. The title is that of the front matter, else the first heading of level 1.
 */
export function parseMarkdown(source: string): ExtractedDocument {
  const { metadata, text } = splitFrontMatter(cleanText(source));
  checkTextLength(text.length);
  const blocks = markdownBlocks(text);
  const { title, ...others } = metadata;
  const heading = blocks.find(
    ({ kind, level, start, end }) => kind === 'heading' && level === 1 && end - start <= MAX_HEADING_CHARACTERS,
  );
  const named =
    heading && collapseWhitespace(text.slice(heading.start, heading.end)).replace(/^#+\s*|\s*#*(?:\s*=+)?$/g, '');
  return { text, blocks, title: normalizeTitle(title) ?? normalizeTitle(named), metadata: others };
}

function splitFrontMatter(text: string): { metadata: DocumentMetadata; text: string } {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? [];
  if (whole === '') return { metadata: {}, text };
  try {
    const fields: unknown = parse(yaml, { maxAliasCount: MAX_ALIASES, logLevel: 'error' });
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { metadata: {}, text };
    return { metadata: flattenMetadata(fields), text: text.slice(whole.length) };
  } catch {
    // Invalid YAML between dashes is body text.
    return { metadata: {}, text };
  }
}
