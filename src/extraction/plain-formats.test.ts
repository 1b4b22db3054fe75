import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { makeZip } from '../../test/fixtures/documents-docx.ts';
import { makeOds } from '../../test/fixtures/drive-server.ts';
import { cleanText } from '../lib/clean-text.ts';
import { decodeText } from './decode.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from './extracted-document.ts';
import { flattenMetadata } from './flatten-metadata.ts';
import { documentFormat, parseCharset } from './formats.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import { readDocument, truncateDocument } from './read-document.ts';
import { parseMarkdown } from './read-markdown.ts';
import { parseText } from './read-text.ts';

function jobOf(content: string | Uint8Array, chunkCharacters = 200): ReaderInput {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return { content: bytes, bytes: bytes.length, charset: null, chunkCharacters };
}
const read = (
  format: 'csv' | 'ods' | 'jsonl' | 'text' | 'markdown',
  content: string | Uint8Array,
  characters?: number,
) => Array.fromAsync(readDocument(format, jobOf(content, characters)));
const blocksOf = ({ text, blocks }: ExtractedDocument) =>
  blocks.map(({ kind, level, start, end }) => [
    level === undefined ? kind : `${kind} ${level}`,
    text.slice(start, end),
  ]);
const documentIn = (part: Extraction | undefined): ExtractedDocument => {
  assert.ok(part !== undefined && 'document' in part);
  return part.document;
};
const codeOf = (part: Extraction | undefined) => (part !== undefined && 'error' in part ? part.error.code : null);

describe('documentFormat', () => {
  it('uses the media type, else the file extension', () => {
    assert.equal(documentFormat('page', 'text/html; charset=utf-8'), 'html');
    assert.equal(documentFormat('notes.MD', 'text/plain'), 'markdown');
    assert.equal(documentFormat('notes', 'text/plain'), 'text');
    assert.equal(documentFormat('report.pdf', null), 'pdf');
    assert.equal(documentFormat('image.svg', 'image/svg+xml'), null);
    assert.equal(parseCharset('text/html; Charset="ISO-8859-2"'), 'iso-8859-2');
  });
});

describe('encodings', () => {
  const samples: Record<string, string> = {
    'UTF-16LE': 'Plain text without a mark, in two bytes each.',
    'UTF-16BE': 'Plain text without a mark, in two bytes each.',
    'UTF-32LE': 'Four bytes each.',
    'UTF-32BE': 'Four bytes each.',
    'windows-1252': 'Die Größe der Straße wäre schön. « Où est l’été » “quoted” café naïve, €100.',
    'windows-1250': 'Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń.',
    'windows-1251': 'Съешь ещё этих мягких французских булок, да выпей чаю. Москва столица России.',
    'KOI8-R': 'Съешь ещё этих мягких французских булок, да выпей чаю. Москва столица России.',
    Shift_JIS: '吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。',
    'EUC-JP': '吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。',
    CP866: 'Съешь ещё этих мягких французских булок, да выпей чаю. Москва столица России.',
    GB18030: '我们在这里学习中文,今天天气很好。人民共和国万岁。',
    Big5: '我們在這裡學習中文,今天天氣很好。',
    'EUC-KR': '나는 학교에 갑니다. 오늘은 날씨가 좋습니다.',
    'windows-1253': 'Ο άνθρωπος είναι το μέτρο όλων των πραγμάτων.',
    'windows-1255': 'בראשית ברא אלהים את השמים ואת הארץ',
    'windows-1256': 'السلام عليكم ورحمة الله وبركاته كيف حالك',
  };
  for (const [encoding, text] of Object.entries(samples)) {
    it(`detects ${encoding} in a short text`, () => {
      const bytes = execFileSync('iconv', ['-f', 'UTF-8', '-t', encoding], { input: text });
      assert.equal(decodeText(bytes), text);
    });
  }

  it('prefers a byte order mark, then a declared charset that the bytes do not contradict', () => {
    assert.equal(decodeText(Buffer.from('\ufeffä', 'utf16le'), 'utf-8'), 'ä');
    assert.equal(decodeText(Buffer.from('größer'), 'iso-8859-1'), 'größer');
    assert.equal(decodeText(Buffer.from('größer', 'latin1'), 'utf-8'), 'größer');
    assert.equal(decodeText(Buffer.from([0xb3, 0xf3, 0x64, 0xbc]), 'iso-8859-2'), 'łódź');
    assert.equal(decodeText(Buffer.from('plain'), 'no-such-encoding'), 'plain');
    assert.equal(decodeText(new Uint8Array()), '');
  });
});

describe('cleanText', () => {
  it('normalizes to NFC and LF without control characters, lone surrogates and byte order marks', () => {
    assert.equal(
      cleanText('\ufeffa\u0000b\r\nc\rd\u2028e\u0301\ud800!'),
      'ab\nc\nd\né\ufffd!'.replace('\nd\né', '\nd\né'),
    );
  });

  it('keeps at most thirty combining marks per character', () => {
    assert.equal(cleanText(`x${'\u0316\u0301'.repeat(100_000)}`).length, 31);
  });
});

describe('plain text', () => {
  it('keeps the text; finds paragraphs, lists, underlined and numbered headings', () => {
    const source =
      'Title\n=====\n\n1. Introduction\n\nFirst line\nwraps here.\n\n- one\n  goes on\n- two\n\n2.1 Details\n\nEnd.\n';
    const document = parseText(source);
    assert.deepEqual(blocksOf(document), [
      ['heading 1', 'Title\n====='],
      ['heading 1', '1. Introduction'],
      ['paragraph', 'First line\nwraps here.'],
      ['list-item', '- one\n  goes on'],
      ['list-item', '- two'],
      ['heading 2', '2.1 Details'],
      ['paragraph', 'End.'],
    ]);
    assert.equal(document.text, source.trim());
  });

  it('reads a megabyte in one line as one paragraph', async () => {
    const [part] = await read('text', 'word '.repeat(200_000));
    assert.equal(documentIn(part).blocks.length, 1);
    assert.equal(documentIn(part).text.length, 999_999);
  });

  it('rejects binary content with invalid_file', async () => {
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i * 31) % 256));
    await assert.rejects(read('text', bytes), { code: 'invalid_file' });
    await assert.rejects(read('csv', bytes), { code: 'invalid_file' });
  });

  it('yields no_text for blank content', async () => {
    assert.equal(codeOf((await read('text', ' \n\t\n'))[0]), 'no_text');
  });

  it('rejects text above the maximum length with too_large', async () => {
    await assert.rejects(read('text', 'a'.repeat(10_000_001)), { code: 'too_large' });
  });
});

describe('Markdown', () => {
  it('returns front matter as metadata and the remaining source as text', () => {
    const document = parseMarkdown(
      '---\ntitle: On tides\ntags: [sea, moon]\nauthor: {name: Ann}\ndraft: false\n---\n# Tides\n\nText.\n',
    );
    assert.equal(document.title, 'On tides');
    assert.deepEqual(document.metadata, { tags: ['sea', 'moon'], 'author.name': 'Ann', draft: false });
    assert.equal(document.text, '# Tides\n\nText.\n');
  });

  it('keeps code fences and tables whole and splits lists into items', () => {
    const source =
      '# One\n\nSetext\n------\n\n- a\n  - b\n\n    ```sh\n    # no heading\n    ```\n- c\n\n| h | i |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n<div>\nx\n</div>\n';
    const document = parseMarkdown(source);
    assert.deepEqual(blocksOf(document), [
      ['heading 1', '# One'],
      ['heading 2', 'Setext\n------'],
      ['list-item', '- a'],
      ['list-item', '- b'],
      ['code', '```sh\n    # no heading\n    ```'],
      ['list-item', '- c'],
      ['table', '| h | i |\n|---|---|\n| 1 | 2 |'],
      ['paragraph', '> quoted'],
      ['other', '<div>\nx\n</div>'],
    ]);
    assert.equal(document.title, 'One');
  });

  it('splits a bold opening of a paragraph from it as a heading, when it ends like one', () => {
    const runIn = ['**Upgrade.** Stop it.', '__Down:__ No.', '**Then**: go.'];
    const prose = ['**Bold** words. Text.', '**All bold.**', 'Text **Not.** first.', '- **Item.** Text'];
    const { text, blocks } = parseMarkdown([...runIn, ...prose].join('\n\n'));
    assert.deepEqual(
      blocks.flatMap(({ start, end, isRunIn }) => (isRunIn ? [text.slice(start, end)] : [])),
      ['**Upgrade.**', '__Down:__', '**Then**:'],
    );
    assert.deepEqual(
      blocks.filter(({ isRunIn }) => !isRunIn).map(({ start, end }) => text.slice(start, end)),
      ['Stop it.', 'No.', 'go.', ...prose],
    );
  });

  it('treats invalid front matter as text and rejects YAML alias bombs', () => {
    assert.equal(parseMarkdown('---\njust: [text\n---\nx').text, '---\njust: [text\n---\nx');
    const bomb = Array.from({ length: 30 }, (_, i) => `k${i + 1}: &k${i + 1} [${`*k${i},`.repeat(9)}]`).join('\n');
    assert.deepEqual(parseMarkdown(`---\nk0: &k0 x\n${bomb}\n---\ny`).metadata, {});
  });

  it('reads too deeply nested quotes as text', () => {
    const document = parseMarkdown(`# Top\n\n${'>'.repeat(20_000)} deep\n\nmore`);
    assert.match(document.text, /deep/);
    assert.ok(document.blocks.length > 0);
  });
});

describe('long Markdown', () => {
  const part = [
    '# Top\n\nSome *words* in [a link](x).\ngoing on.\n\nSetext\n===\n',
    '- one\n  going on\n\n  ```\n  # code\n\n  more\n  ```\n- two\n  1. nested\n  2. again\n',
    '~~~js\n# no heading\n\n- no item\n~~~\n\n> quoted\nlazy\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
    '<div>\n# no heading\n</div>\n\n    indented\n\n    code\n\n[ref]: /url\nText behind it.\n\n***\n',
  ].join('\n');

  it('has the same blocks as its parts', () => {
    const blocks = markdownBlocks(`${part}\n`);
    const length = part.length + 1;
    const expected = Array.from({ length: 100 }, (_, i) =>
      blocks.map((block) => ({ ...block, start: block.start + i * length, end: block.end + i * length })),
    ).flat();
    assert.deepEqual(markdownBlocks(`${part}\n`.repeat(100)), expected);
  });

  it('keeps code, tables and paragraphs whole that exceed a window', () => {
    const rows = '| some | cells |\n'.repeat(12_000);
    const longs = [
      `\`\`\`\`\n${'```\n\n# a line of code\n'.repeat(9000)}\`\`\`\``,
      `| a | b |\n|---|---|\n${rows}`,
      'words '.repeat(40_000),
    ];
    const source = longs.map((long) => `${long.trim()}\n\n# Heading\n\n`).join('');
    assert.deepEqual(
      blocksOf({ text: source, blocks: markdownBlocks(source), title: null, metadata: {} }),
      ['code', 'table', 'paragraph'].flatMap((kind, i) => [
        [kind, longs[i]?.trim()],
        ['heading 1', '# Heading'],
      ]),
    );
  });
});

describe('CSV', () => {
  it('detects the delimiter; parses quotes, escaped quotes and line breaks in cells', async () => {
    const [part] = await read('csv', 'name;note\r\n"Müller; A";"says ""hi""\nand goes"\r\nB;\r\n');
    assert.equal(documentIn(part).text, 'name | note\nMüller; A | says "hi" and goes\nB |');
  });

  it('repeats the header in each table', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => `${i},some text in row ${i}`);
    const [part] = await read('csv', `id,text\n${rows.join('\n')}`, 100);
    const tables = blocksOf(documentIn(part)).map(([, text]) => text ?? '');
    assert.ok(tables.length > 5);
    for (const table of tables) {
      assert.ok(table.startsWith('id | text\n'));
      assert.ok(table.length <= 100);
    }
    assert.match(documentIn(part).text, /29 \| some text in row 29$/);
  });

  it('writes a header longer than a chunk once', async () => {
    const [part] = await read('csv', `${'h'.repeat(101)},b\n${'1,2\n'.repeat(60)}`, 100);
    assert.equal(documentIn(part).text.match(/h \| b$/gm)?.length, 1);
    assert.equal(documentIn(part).text.match(/^1 \| 2$/gm)?.length, 60);
  });

  it('repeats nothing without a header', async () => {
    const [part] = await read('csv', Array.from({ length: 30 }, (_, i) => `${i},${i * 2}`).join('\n'), 20);
    assert.match(documentIn(part).text, /^0 \| 0\n1 \| 2/);
    assert.equal(documentIn(part).text.match(/^0 \| 0$/gm)?.length, 1);
  });

  it('splits a large file into several documents, each with the header', async () => {
    const rows = Array.from({ length: 60_000 }, (_, i) => `${i},${'text of the row '.repeat(3)}`);
    const parts = await read('csv', `id,text\n${rows.join('\n')}`, 2000);
    assert.ok(parts.length > 2);
    assert.equal(parts[0]?.part, 'row-1');
    const lines = parts.map((part) =>
      documentIn(part)
        .text.split('\n')
        .filter((line) => /^\d/.test(line)),
    );
    assert.equal(parts[1]?.part, `row-${(lines[0]?.length ?? 0) + 1}`);
    assert.equal(lines.flat().length, 60_000);
    for (const part of parts) assert.ok(documentIn(part).text.startsWith('id | text\n'));
  });

  it('gives the same rows however the file is split', async () => {
    const { parseRows } = await import('./sheets/read-csv.ts');
    const rows = async (...pieces: string[]) => {
      const text = (async function* () {
        yield* pieces;
      })();
      const rows = (await Array.fromAsync(parseRows(text))).flat();
      return rows.filter((row) => row.some((cell) => cell !== ''));
    };
    const source = 'a,"b ""c""\r\nd", e\r\n\r\n1,2 "x",3\r"",4\n';
    const head = `${'some,usual,cells\n'.repeat(5000)}`;
    const expected = [
      ['a', 'b "c"\nd', ' e'],
      ['1', '2 "x"', '3'],
      ['', '4'],
    ];
    for (let at = 0; at <= source.length; at++) {
      const found = await rows(head, source.slice(0, at), source.slice(at));
      const own = found.slice(5000).map((row) => row.map((cell) => cell.replace(/\n+/g, '\n')));
      assert.deepEqual(own, expected, `${at}`);
    }
    assert.deepEqual(await rows('a;b\r1;2\r'), [
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('rejects an unclosed quote with invalid_file', async () => {
    await assert.rejects(read('csv', `a,b\n"${'x'.repeat(5_000_000)}\n`), { code: 'invalid_file' });
  });
});

describe('JSONL', () => {
  it('yields a document per line with its fields as metadata; an invalid line fails alone', async () => {
    const parts = await read(
      'jsonl',
      '{"text":"one","title":"T","year":2020,"a":{"b":["x",1]}}\n\n{oops\n{"content":"two"}\n{"n":1}\n[1]\n',
    );
    assert.deepEqual(
      parts.map(({ part }) => part),
      ['1', '3', '4', '5', '6'],
    );
    assert.deepEqual(parts.map(codeOf), [null, 'invalid_file', null, 'no_text', 'invalid_file']);
    assert.deepEqual(
      parts.map(({ bytes }) => bytes),
      [56, 5, 17, 7, 3],
    );
    const { text, title, metadata } = documentIn(parts[0]);
    assert.deepEqual({ text, title, metadata }, { text: 'one', title: 'T', metadata: { year: 2020, 'a.b': ['x', 1] } });
  });

  it('reads question and answer together, or the named fields in their order', async () => {
    const lines = [
      '{"question":"Who \\"A\\"?\\nB?","answer":"Ann.","n":1}',
      '{"question":"Alone?","answer":" "}',
      '{"text":"t","question":"q","answer":"a"}',
    ];
    const parts = await read('jsonl', lines.join('\n'));
    const { text, title, metadata } = documentIn(parts[0]);
    assert.deepEqual([text, title, metadata], ['Who "A"?\nB?\n\nAnn.', 'Who "A"? B?', { n: 1 }]);
    assert.equal(codeOf(parts[1]), 'no_text');
    const { text: plain, metadata: others } = documentIn(parts[2]);
    assert.deepEqual([plain, others], ['t', { question: 'q', answer: 'a' }]);
    const named = { ...jobOf(lines.join('\n')), textFields: ['answer', 'question'] };
    const [first, second, third] = await Array.fromAsync(readDocument('jsonl', named));
    assert.equal(documentIn(first).text, 'Ann.\n\nWho "A"?\nB?');
    assert.equal(documentIn(second).text, 'Alone?');
    assert.deepEqual([documentIn(third).text, documentIn(third).metadata], ['a\n\nq', { text: 't' }]);
  });

  it('fails only the lines that are nested too deeply or too long', async () => {
    const nested = `{"text":"x","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const allowed = `{"text":"x","a":${'['.repeat(127)}${']'.repeat(127)}}`;
    const long = JSON.stringify({ text: 'x'.repeat(10_000_001) });
    const parts = await read('jsonl', [nested, allowed, long, '{"text":"last"}'].join('\n'));
    assert.deepEqual(parts.map(codeOf), ['invalid_file', null, 'too_large', null]);
  });

  it('yields no_text for a file of blank lines', async () => {
    const parts = await read('jsonl', '\n\n \n');
    assert.deepEqual([parts.map(({ part }) => part), parts.map(codeOf)], [[''], ['no_text']]);
  });

  it('yields too_large for a line above the maximum and continues', async () => {
    const parts = await read('jsonl', `{"text":"${'x'.repeat(17_000_000)}"}\n{"text":"next"}`);
    assert.deepEqual(parts.map(codeOf), ['too_large', null]);
  });
});

describe('flattenMetadata', () => {
  it('flattens objects, normalizes strings to one line, keeps types', () => {
    assert.deepEqual(flattenMetadata({ a: null, b: '', c: new Date(0), d: Number.NaN, 'f\u0000': ' y ', g: [] }), {
      b: '',
      c: '1970-01-01T00:00:00.000Z',
      d: 'NaN',
      f: 'y',
      g: [],
    });
    assert.deepEqual(flattenMetadata({ list: [5, true, ' x ', null, { y: 1 }] }), { list: [5, true, 'x', '{"y":1}'] });
    assert.deepEqual(flattenMetadata({ long: 'x'.repeat(16_385) }), { long: `${'x'.repeat(16_383)}…` });
    assert.deepEqual(flattenMetadata({ a: { b: { c: { d: { e: 1 } } } } }), { 'a.b.c.d': '{"e":1}' });
    assert.equal(Object.getPrototypeOf(flattenMetadata(JSON.parse('{"__proto__": {"x": 1}}'))), Object.prototype);
  });
});

describe('truncateDocument', () => {
  it('keeps a heading of a million characters as text, not as heading or title', async () => {
    const source = `# ${'H'.repeat(1_000_000)}\n\n# Short\n\nwalrus`;
    const [part] = await read('markdown', source);
    const document = documentIn(part);
    assert.equal(document.text, source);
    assert.deepEqual(
      document.blocks.map(({ kind }) => kind),
      ['paragraph', 'heading', 'paragraph'],
    );
    assert.equal(document.title, 'Short');
  });

  it('truncates title, keys and values at grapheme boundaries', async () => {
    const family = '👨‍👩‍👧‍👦';
    const line = { text: 'walrus', title: family.repeat(100), [`k${family.repeat(200)}`]: 'é'.repeat(20_000) };
    const { title, metadata } = documentIn((await read('jsonl', JSON.stringify(line)))[0]);
    assert.equal(title, `${family.repeat(45)}…`);
    assert.deepEqual(metadata, { [`k${family.repeat(92)}…`]: `${'é'.repeat(16_383)}…` });
    const keys = Object.fromEntries(Array.from({ length: 11_000 }, (_, i) => [`k${i}`, i]));
    const many = documentIn((await read('jsonl', JSON.stringify({ text: 'walrus', ...keys })))[0]);
    assert.equal(Object.keys(many.metadata).length, 10_000);
  });

  it('clamps heading levels to 1 to 6', () => {
    const document = { text: 'a b', title: null, metadata: {} };
    const levels = [-3, 0, 1.2, 5.7, 9, Number.NaN, undefined];
    const blocks = levels.map((level) => ({ kind: 'heading' as const, start: 0, end: 1, ...(level && { level }) }));
    assert.deepEqual(
      truncateDocument({ ...document, blocks }).blocks.map(({ level }) => level),
      [1, 1, 1, 6, 6, 1, 1],
    );
  });
});

describe('readOds', () => {
  it('reads all sheets as shown, without comments, with repeated cells and rows', async () => {
    const cell = (text: string, more = '') => `<table:table-cell ${more}><text:p>${text}</text:p></table:table-cell>`;
    const repeated = `<table:table table:name="Dates"><table:table-row table:number-rows-repeated="2">${cell('x')}<table:table-cell table:number-columns-repeated="2"/>${cell('31 Dec', 'table:number-columns-repeated="2"')}</table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>`;
    const comment = `<table:table table:name="Note"><table:table-row><table:table-cell><office:annotation><text:p>hidden</text:p></office:annotation><text:p>A<text:s/>b</text:p><text:p>c</text:p></table:table-cell></table:table-row></table:table>`;
    const parts = await read(
      'ods',
      makeOds(
        {
          Costs: [
            ['item', 'cost'],
            ['salmon &amp; co', '7'],
          ],
          Empty: [],
        },
        repeated + comment,
      ),
    );
    assert.deepEqual(
      parts.map((part) => [part.part, documentIn(part).title, documentIn(part).text]),
      [
        ['Costs', 'Costs', 'item | cost\nsalmon & co | 7'],
        ['Dates', 'Dates', 'x |  |  | 31 Dec | 31 Dec\nx |  |  | 31 Dec | 31 Dec'],
        ['Note', 'Note', 'A b c'],
      ],
    );
    assert.deepEqual(
      (await read('ods', makeOds({ One: [['a']] }))).map(({ part }) => part),
      [''],
    );
  });

  it('bounds repetition, and rejects empty and damaged spreadsheets', async () => {
    const text = 'x'.repeat(50_000);
    const bomb = `<table:table><table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000"><text:p>${text}</text:p></table:table-cell></table:table-row></table:table>`;
    await assert.rejects(read('ods', makeOds({}, bomb)), { code: 'too_large' });
    await assert.rejects(read('ods', makeOds({ A: [] })), { code: 'no_text' });
    await assert.rejects(read('ods', makeOds({ A: [['a']] }).subarray(0, 100)), { code: 'invalid_file' });
    await assert.rejects(read('ods', makeZip([{ name: 'other.xml', content: '<a/>' }])), { code: 'invalid_file' });
  });
});
