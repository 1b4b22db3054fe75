import type { CallToolResult } from '@modelcontextprotocol/client';
import { truncateText } from '../lib/truncate.ts';

/** The result of a tool as a text of at most `maxCharacters`. Images and sounds are named, not read. */
export function renderToolResult({ content, structuredContent }: CallToolResult, maxCharacters: number): string {
  const text = content.map(renderBlock).join('\n');
  const shown = text === '' && structuredContent !== undefined ? JSON.stringify(structuredContent) : text;
  return truncateText(shown.toWellFormed(), maxCharacters);
}

function renderBlock(block: CallToolResult['content'][number]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `[${block.title ?? block.name}](${block.uri})`;
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `[${block.resource.mimeType ?? 'data'}, not read]`;
    default:
      return `[${block.mimeType}, not read]`;
  }
}
