import { Parser } from 'htmlparser2';

/** Elements whose text is not content: parameters of macros, images, user references. */
const SKIPPED: ReadonlySet<string> = new Set([
  'ac:parameter',
  'ac:image',
  'ac:emoticon',
  'ac:adf-extension',
  'ac:placeholder',
  'ac:task-id',
  'ac:task-uuid',
  'ac:task-status',
]);
const BLOCKS: ReadonlySet<string> = new Set([
  'p',
  'div',
  'blockquote',
  'ac:rich-text-body',
  'ac:layout-section',
  'ac:layout-cell',
  'ac:task-list',
  'hr',
]);

/**
 * Converts Confluence's storage format (XHTML with macros,
 * https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html) to Markdown. Keeps headings, lists,
 * tables, task lists, code macros and the text inside of all other macros. Takes linear time for any input.
 */
export function storageToMarkdown(storage: string): string {
  const writer = new MarkdownWriter();
  // Not the XML mode, which knows five entities: the storage format uses the entities of HTML.
  const parser = new Parser(writer, { recognizeSelfClosing: true, recognizeCDATA: true, decodeEntities: true });
  parser.end(storage);
  return writer.finish();
}

/** Handler of the parser. */
class MarkdownWriter {
  readonly #blocks: string[] = [];
  #line = '';
  /** Prefix of the next line, such as a list marker. */
  #prefix = '';
  /** Open lists: the number of the next item, or null for bullets. */
  readonly #lists: (number | null)[] = [];
  /** Cells of the open row; null outside of rows. */
  #row: string[] | null = null;
  #rows = 0;
  /** Depth of nested tables; those inside of cells become text. */
  #tables = 0;
  #skipped = 0;
  readonly #macros: string[] = [];
  /** The open link: the name of its target, and the length of the line before its body. */
  #link: { name: string; start: number } | null = null;
  #isCode = false;
  #code = '';

  onopentag(name: string, attributes: Record<string, string>): void {
    if (SKIPPED.has(name)) this.#skipped += 1;
    const heading = /^h([1-6])$/.exec(name)?.[1];
    if (heading !== undefined) this.#startBlock(`${'#'.repeat(Number(heading))} `);
    else if (name === 'ac:structured-macro') this.#macros.push(attributes['ac:name'] ?? '');
    else if (name === 'ac:plain-text-body') this.#isCode = true;
    else if (name === 'ul' || name === 'ol') this.#lists.push(name === 'ol' ? 1 : null);
    else if (name === 'li') this.#startBlock(this.#marker());
    else if (name === 'ac:task') this.#startBlock('- ');
    else if (name === 'table') this.#openTable();
    else if (name === 'tr' && this.#tables === 1) this.#row = [];
    else if (name === 'br') this.#line += this.#row === null ? '\n' : ' ';
    else if (name === 'ac:link') this.#link = { name: '', start: this.#line.length };
    else if (name === 'ri:page' || name === 'ri:attachment')
      this.#nameTarget(attributes['ri:content-title'] ?? attributes['ri:filename'] ?? '');
    else if (name === 'time') this.#line += attributes['datetime'] ?? '';
    else if (BLOCKS.has(name) && this.#lists.length === 0) this.#endLine();
    else if ((name === 'td' || name === 'th') && this.#tables === 1) this.#line = '';
  }

  ontext(text: string): void {
    if (this.#isCode) this.#code += text;
    else if (this.#skipped === 0) this.#line += text.replaceAll(/\s+/g, ' ');
  }

  onclosetag(name: string): void {
    if (SKIPPED.has(name)) this.#skipped -= 1;
    if (name === 'ac:plain-text-body') this.#writeCode();
    else if (name === 'ac:structured-macro') this.#macros.pop();
    else if ((name === 'td' || name === 'th') && this.#tables === 1) this.#endCell();
    else if (name === 'tr' && this.#tables === 1) this.#endRow();
    else if (name === 'table') this.#tables -= 1;
    else if (name === 'ac:link') this.#endLink();
    else if (name === 'ul' || name === 'ol') this.#lists.pop();
    if (/^(h[1-6]|li|ac:task)$/.test(name) || BLOCKS.has(name)) this.#endLine();
  }

  #nameTarget(name: string): void {
    if (this.#link === null) this.#line += name;
    else this.#link.name = name;
  }

  /** A link without a body shows the name of its target. */
  #endLink(): void {
    const { name, start } = this.#link ?? { name: '', start: 0 };
    this.#link = null;
    if (this.#line.slice(start).trim() === '') this.#line += name;
  }

  finish(): string {
    this.#endLine();
    return this.#blocks.join('\n\n');
  }

  #startBlock(prefix: string): void {
    this.#endLine();
    this.#prefix = prefix;
  }

  #marker(): string {
    const indent = '  '.repeat(Math.max(0, this.#lists.length - 1));
    const number = this.#lists.at(-1) ?? null;
    if (number === null) return `${indent}- `;
    this.#lists[this.#lists.length - 1] = number + 1;
    return `${indent}${number}. `;
  }

  /** Inside of a cell, blocks are separated by a space. */
  #endLine(): void {
    if (this.#row !== null) {
      this.#line += ' ';
      return;
    }
    const text = this.#line.trim();
    this.#line = '';
    if (text === '') return;
    this.#blocks.push(this.#prefix + text);
    this.#prefix = '';
  }

  #openTable(): void {
    this.#tables += 1;
    if (this.#tables > 1) return;
    this.#endLine();
    this.#rows = 0;
  }

  #endCell(): void {
    this.#row?.push(this.#line.replaceAll(/\s+/g, ' ').trim().replaceAll('|', '\\|'));
    this.#line = '';
  }

  #endRow(): void {
    const cells = this.#row ?? [];
    this.#row = null;
    if (cells.length === 0) return;
    const lines = [`| ${cells.join(' | ')} |`];
    if (this.#rows === 0) lines.push(`|${' --- |'.repeat(cells.length)}`);
    const text = lines.join('\n');
    // Rows of one table are one block.
    if (this.#rows === 0) this.#blocks.push(text);
    else this.#blocks[this.#blocks.length - 1] += `\n${text}`;
    this.#rows += 1;
  }

  #writeCode(): void {
    this.#isCode = false;
    const code = this.#code;
    this.#code = '';
    if (this.#macros.at(-1) !== 'code' && this.#macros.at(-1) !== 'noformat')
      this.#line += code.replaceAll(/\s+/g, ' ');
    else if (this.#row !== null) this.#line += code.replaceAll(/\s+/g, ' ');
    else {
      this.#endLine();
      const fence = code.includes('```') ? '~~~~' : '```';
      this.#blocks.push(`${fence}\n${code.replace(/\n$/, '')}\n${fence}`);
    }
  }
}
