import { makeDocx, wordParagraph } from '../../test/fixtures/documents-docx.ts';
import { column, makePdf } from '../../test/fixtures/documents-pdf.ts';
import type { Writer } from './texts.ts';

/** Characters per line and lines per page of generated PDFs. */
const LINE_CHARACTERS = 92;
const PAGE_LINES = 46;

/** Generates documentation of 2 to 10 kB: front matter, headings, paragraphs, a list, a table, code, links. */
export function markdownPage(writer: Writer): string {
  const sections = many(writer, 2, 6, () => {
    const parts = [`## ${writer.title()}`, ...many(writer, 1, 3, () => withLink(writer))];
    const kind = writer.between(0, 4);
    if (kind === 0) parts.push(many(writer, 3, 8, () => `- ${writer.sentence()}`).join('\n'));
    if (kind === 1) parts.push(table(writer));
    if (kind === 2) parts.push(`\`\`\`ts\n${many(writer, 3, 12, () => codeLine(writer)).join('\n')}\n\`\`\``);
    return parts.join('\n\n');
  });
  const title = writer.title();
  return `---\ntitle: ${title}\ntags: [${writer.word()}, ${writer.word()}]\n---\n\n# ${title}\n\n${writer.paragraph()}\n\n${sections.join('\n\n')}\n`;
}

function withLink(writer: Writer): string {
  return `${writer.paragraph()} See [${writer.title()}](./${writer.word()}.md) and \`${writer.word()}\`.`;
}

function table(writer: Writer): string {
  const rows = many(writer, 3, 10, () => `| ${writer.word()} | ${writer.title()} | ${writer.between(1, 9999)} |`);
  return `| name | meaning | value |\n|---|---|---|\n${rows.join('\n')}`;
}

function codeLine(writer: Writer): string {
  return `const ${writer.word()} = ${writer.word()}.${writer.word()}(${writer.between(0, 99)});`;
}

/** Generates a plain text of 2 to 10 kB with titles and paragraphs. */
export function plainNote(writer: Writer): string {
  return many(
    writer,
    2,
    8,
    () => `${writer.title()}\n\n${many(writer, 1, 3, () => writer.paragraph()).join('\n\n')}`,
  ).join('\n\n');
}

/** Generates a CSV table with some quoted cells. */
export function csvTable(writer: Writer, rows: number): string {
  const lines = Array.from(
    { length: rows },
    (_, i) =>
      `${i + 1},${writer.title()},"${writer.sentence().replaceAll('"', '""')}",${writer.between(1, 100_000)},2026-0${writer.between(1, 9)}-1${writer.between(0, 9)}`,
  );
  return `id,name,description,amount,date\n${lines.join('\n')}\n`;
}

/** Generates JSONL records with texts of one or two paragraphs. */
export function jsonLines(writer: Writer, lines: number): string {
  return Array.from({ length: lines }, (_, i) => {
    const text = many(writer, 1, 2, () => writer.paragraph()).join('\n\n');
    return `${JSON.stringify({ id: i, title: writer.title(), text, year: writer.between(1990, 2026) })}\n`;
  }).join('');
}

/** Generates a web page: an article with navigation, sidebar, footer and scripts. */
export function webPage(writer: Writer): string {
  const links = (count: number) =>
    many(
      writer,
      count,
      count,
      () => `<li><a href="/${writer.word()}/${writer.word()}">${writer.title()}</a></li>`,
    ).join('');
  const sections = many(writer, 3, 7, () => {
    const paragraphs = many(writer, 1, 4, () => `<p>${inline(writer)}</p>`).join('\n');
    return `<section><h2>${writer.title()}</h2>\n${paragraphs}\n<ul>${many(writer, 2, 5, () => `<li>${escaped(writer.sentence())}</li>`).join('')}</ul></section>`;
  });
  const title = writer.title();
  const script = `<script>${many(writer, 5, 20, () => codeLine(writer)).join('\n')}</script>`;
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${script}</head><body>` +
    `<nav><ul>${links(20)}</ul></nav><main><article><h1>${title}</h1>\n${sections.join('\n')}</article>` +
    `<aside><ul>${links(12)}</ul></aside></main><footer><ul>${links(15)}</ul></footer></body></html>`
  );
}

function inline(writer: Writer): string {
  return `${escaped(writer.paragraph())} <a href="/${writer.word()}">${writer.title()}</a>, <em>${writer.word()}</em>.`;
}

/** Generates a Word document of three to ten sections. */
export function wordDocument(writer: Writer): Buffer {
  const sections = many(writer, 3, 10, () => {
    const heading = wordParagraph(writer.title(), '<w:pStyle w:val="Heading1"/>');
    return heading + many(writer, 2, 5, () => wordParagraph(escaped(writer.paragraph()))).join('');
  });
  return makeDocx(sections.join(''));
}

/** Escapes XML and HTML. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Generates a PDF of full pages with running headers, chapters and paragraphs. */
export function pdf(writer: Writer, pages: number): Buffer {
  const lines: string[] = [];
  return makePdf(
    Array.from({ length: pages }, (_, page) => {
      while (lines.length < PAGE_LINES) lines.push(...wrapped(writer.paragraph()), '');
      const head = { text: `Annual report, page ${page + 1}`, x: 60, y: 762, size: 8 };
      const title = { text: writer.title(), x: 60, y: 735, size: 16 };
      return [head, title, ...column(lines.splice(0, PAGE_LINES), 60, 705).filter(({ text }) => text !== '')];
    }),
  );
}

/** Replaces characters that the fixtures' Helvetica lacks. */
function wrapped(paragraph: string): string[] {
  const latin = paragraph.replace(/[^\x20-\x7e]/g, '');
  return latin.match(new RegExp(`.{1,${LINE_CHARACTERS}}(?:\\s|$)`, 'g'))?.map((line) => line.trim()) ?? [];
}

function many<T>(writer: Writer, least: number, most: number, make: () => T): T[] {
  return Array.from({ length: writer.between(least, most) }, make);
}
