import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Block, ExtractedText } from '../extraction/extracted-document.ts';
import { splitSentences } from '../lib/sentences.ts';
import type { ChunkingModel, ChunkingStrategy } from './chunk.ts';
import { chunkText } from './chunk-text.ts';
import { type CooperativeSteps, runCooperatively } from './cooperative.ts';
import { segmentSentences } from './segment-sentences.ts';

/** Counts like a WordPiece tokenizer: a token per four letters of a word, and per other character. */
const countOf = (text: string) =>
  Array.from(text.matchAll(/[a-zA-Z]+|[^\sa-zA-Z]/gu)).reduce((sum, [run]) => sum + Math.ceil(run.length / 4), 0);

const topics = ['fish', 'stone', 'music'];
/** Embeds a sentence by the topic that it names. */
const model: ChunkingModel = {
  countTokens: async (texts) => texts.map(countOf),
  embed: async (texts) => texts.map((text) => Float32Array.from(topics, (topic) => (text.includes(topic) ? 1 : 0.01))),
};

const signal = new AbortController().signal;
const chunksOf = (document: ExtractedText, strategy: Partial<ChunkingStrategy>) =>
  chunkText(document, { type: 'recursive', chunkSizeTokens: 32, chunkOverlapTokens: 0, ...strategy }, model, signal);

/** A document of blocks separated by empty lines. */
function documentOf(...parts: (string | (Omit<Block, 'start' | 'end'> & { text: string }))[]): ExtractedText {
  let text = '';
  const blocks: Block[] = [];
  for (const part of parts) {
    const { text: inner, ...block } = typeof part === 'string' ? { kind: 'paragraph' as const, text: part } : part;
    if (text !== '') text += '\n\n';
    blocks.push({ ...block, start: text.length, end: text.length + inner.length });
    text += inner;
  }
  return { text, blocks };
}

/** Deterministic pseudo-random numbers (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const PIECES = [
  'word',
  'longerword',
  'a',
  '12',
  'É',
  '日本語',
  '😀',
  'e\u0301',
  'x'.repeat(90),
  '.',
  ' ',
  '. ',
  '\n',
  '\n\n',
  '\t',
  ', ',
];

function randomDocument(random: () => number): ExtractedText {
  const parts = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
    const text = Array.from(
      { length: Math.floor(random() * 80) },
      () => PIECES[Math.floor(random() * PIECES.length)],
    ).join('');
    const kind = (['paragraph', 'heading', 'code', 'list-item'] as const)[Math.floor(random() * 4)] ?? 'paragraph';
    return { kind, text, level: 1 + Math.floor(random() * 6) };
  });
  return documentOf(...parts);
}

const everyStrategy = (random: () => number): ChunkingStrategy => {
  const chunkSizeTokens = 16 + Math.floor(random() * 40);
  return {
    type: (['recursive', 'fixed_size', 'semantic'] as const)[Math.floor(random() * 3)] ?? 'recursive',
    chunkSizeTokens,
    chunkOverlapTokens: Math.floor(random() * chunkSizeTokens),
  };
};

describe('chunkText, for any text and strategy', () => {
  it('covers every non-blank character in order and never exceeds the size', async () => {
    const random = seeded(1);
    for (let round = 0; round < 400; round++) {
      const document = randomDocument(random);
      const strategy = everyStrategy(random);
      const chunks = await chunksOf(document, strategy);
      let covered = 0;
      let previousStart = -1;
      for (const { startIndex, endIndex, tokens } of chunks) {
        const text = document.text.slice(startIndex, endIndex);
        assert.equal(document.text.slice(covered, Math.max(covered, startIndex)).trim(), '', `round ${round}`);
        assert.ok(startIndex > previousStart && endIndex > covered, `round ${round}: chunks go forward`);
        assert.equal(text, text.trim());
        assert.equal(tokens, countOf(text));
        assert.ok(tokens <= strategy.chunkSizeTokens, `round ${round}: ${tokens} of ${strategy.chunkSizeTokens}`);
        covered = Math.max(covered, endIndex);
        previousStart = startIndex;
      }
      assert.equal(document.text.slice(covered).trim(), '');
    }
  });

  it('never splits a grapheme', async () => {
    const text = '😀e\u0301'.repeat(200);
    for (const { startIndex, endIndex } of await chunksOf(documentOf(text), {
      type: 'fixed_size',
      chunkSizeTokens: 16,
    })) {
      assert.ok(text.slice(startIndex, endIndex).isWellFormed());
      assert.doesNotMatch(text.slice(startIndex, endIndex), /^\p{M}/u);
    }
  });

  it('returns no chunks for blank text', async () => {
    for (const type of ['recursive', 'fixed_size', 'semantic'] as const) {
      assert.deepEqual(await chunksOf(documentOf(' \n\n '), { type }), []);
      assert.deepEqual(await chunksOf({ text: '', blocks: [] }, { type }), []);
    }
  });

  it('chunks text outside blocks', async () => {
    const text = 'some words here '.repeat(40);
    const chunks = await chunksOf({ text, blocks: [] }, {});
    assert.equal(chunks.map(({ startIndex, endIndex }) => text.slice(startIndex, endIndex)).join(' '), text.trim());
  });
});

describe('fixed_size', () => {
  it('fills every chunk but the last and repeats exactly the overlap', async () => {
    const text = Array.from({ length: 300 }, (_, i) => 'abcd'.slice(0, 1 + (i % 4))).join(' ');
    const chunks = await chunksOf(documentOf(text), { type: 'fixed_size', chunkSizeTokens: 20, chunkOverlapTokens: 7 });
    chunks.slice(0, -1).forEach(({ tokens }) => {
      assert.equal(tokens, 20);
    });
    for (const [i, { startIndex }] of chunks.entries()) {
      const previous = chunks[i - 1];
      if (previous === undefined) continue;
      assert.equal(countOf(text.slice(startIndex, previous.endIndex)), 7);
    }
  });
});

describe('recursive', () => {
  const sentence = (name: string, words: number) => `${name} ${'word '.repeat(words - 2)}end.`;

  it('ends a chunk at the end of a sentence', async () => {
    const document = documentOf([sentence('First', 20), sentence('Second', 20), sentence('Third', 20)].join(' '));
    const texts = (await chunksOf(document, {})).map(({ startIndex, endIndex }) =>
      document.text.slice(startIndex, endIndex),
    );
    assert.deepEqual(
      texts.map((text) => text.slice(0, 5)),
      ['First', 'Secon', 'Third'],
    );
  });

  it('starts a chunk with a heading instead of ending one with it', async () => {
    const document = documentOf(
      { kind: 'heading', text: 'Intro', level: 1 },
      sentence('Before', 18),
      { kind: 'heading', text: 'Part', level: 2 },
      sentence('After', 20),
    );
    const chunks = await chunksOf(document, {});
    assert.deepEqual(
      chunks.map(({ startIndex, headingPath }) => [document.text.slice(startIndex, startIndex + 4), headingPath]),
      [
        ['Intr', ['Intro']],
        ['Part', ['Intro', 'Part']],
      ],
    );
  });

  it('keeps code that fits in one chunk together', async () => {
    const code = 'let a = 1;\nlet b = 2;\nlet c = 3;';
    const document = documentOf(sentence('Before', 22), { kind: 'code', text: code });
    const texts = (await chunksOf(document, {})).map(({ startIndex, endIndex }) =>
      document.text.slice(startIndex, endIndex),
    );
    assert.ok(texts.includes(code), texts.join('\n---\n'));
  });

  it('puts a run-in heading into the heading path of its paragraph only', async () => {
    const document = documentOf(
      { kind: 'heading', text: '**Upgrade.**', isRunIn: true },
      'Stop the whole service first.',
      'Another paragraph stands alone here below.',
      { kind: 'heading', text: '__Downgrade__:', isRunIn: true },
      'This is never supported.',
      { kind: 'heading', text: '## Backup', level: 2 },
      'Copy the whole folder.',
    );
    const chunks = await chunksOf(document, { chunkSizeTokens: 16 });
    assert.deepEqual(
      chunks.map(({ headingPath }) => headingPath),
      [['Upgrade'], [], ['Downgrade'], ['Backup']],
    );
  });

  it('removes Markdown markers from heading paths', async () => {
    for (const text of ['## Two  words ##', 'Two words\n===', 'Two words']) {
      const [chunk] = await chunksOf(documentOf({ kind: 'heading', text, level: 2 }, 'Text.'), {});
      assert.deepEqual(chunk?.headingPath, ['Two words']);
    }
  });

  it('truncates long headings in heading paths', async () => {
    const text = `${'Überschrift '.repeat(60)}end`;
    const [chunk] = await chunksOf(documentOf({ kind: 'heading', text, level: 1 }, 'Text.'), {});
    assert.equal(chunk?.headingPath[0]?.length, 200);
    assert.match(chunk?.headingPath[0] ?? '', /^Überschrift .*…$/);
  });

  it('has the places that begin within a chunk, and none where nothing changes', async () => {
    const document = documentOf(
      { kind: 'heading', text: 'One', level: 1, page: 1 },
      { kind: 'paragraph', text: 'First text.', page: 1 },
      { kind: 'paragraph', text: 'On the next page.', page: 2 },
      { kind: 'heading', text: 'Two "2"', level: 1, page: 2 },
      { kind: 'paragraph', text: 'Last text.', page: 2 },
    );
    const at = (piece: string) => document.text.indexOf(piece);
    const [chunk, ...others] = await chunksOf(document, { chunkSizeTokens: 200 });
    assert.equal(others.length, 0);
    assert.deepEqual([chunk?.headingPath, chunk?.page], [['One'], 1]);
    assert.deepEqual(chunk?.laterPlaces, [
      { start: at('On the'), headingPath: ['One'], page: 2 },
      { start: at('Two'), headingPath: ['Two "2"'], page: 2 },
    ]);
    const single = await chunksOf(documentOf('One text.', 'Another text.'), { chunkSizeTokens: 200 });
    assert.deepEqual(
      single.map(({ laterPlaces }) => laterPlaces),
      [null],
    );
  });

  it('has the boxes that its text overlaps, and null without any', async () => {
    const document = documentOf(sentence('One', 12), sentence('Two', 12), sentence('Three', 12));
    const [first = assert.fail(), , last = assert.fail()] = document.blocks;
    const boxes = [
      [first.start, first.start + 8, 3, 100, 200, 300, 220],
      [first.start + 9, first.end, 3, 100, 230, 300, 250],
      [last.start + 5, last.end, 4, 100, 200, 300, 220],
    ] as const;
    const chunks = await chunksOf({ ...document, boxes }, { chunkSizeTokens: 16, chunkOverlapTokens: 0 });
    for (const { startIndex, endIndex, boxes: own } of chunks) {
      const expected = boxes.filter(([start, end]) => start < endIndex && end > startIndex);
      assert.deepEqual(own, expected.length === 0 ? null : expected);
    }
    assert.deepEqual(new Set(chunks.flatMap(({ boxes: own }) => own ?? [])).size, boxes.length);
    assert.ok(chunks.some(({ boxes: own }) => own === null));
    const overlapping = await chunksOf({ ...document, boxes }, { chunkSizeTokens: 16, chunkOverlapTokens: 8 });
    assert.ok(overlapping.flatMap(({ boxes: own }) => own ?? []).length > boxes.length);
  });

  it('tracks heading path and page across sections', async () => {
    const document = documentOf(
      { kind: 'heading', text: 'One', level: 1, page: 1 },
      { kind: 'heading', text: 'One  A', level: 3, page: 1 },
      { kind: 'paragraph', text: sentence('Text', 28), page: 2 },
      { kind: 'heading', text: 'Two', level: 2, page: 3 },
      { kind: 'paragraph', text: sentence('Text', 28), page: 3 },
    );
    assert.deepEqual(
      (await chunksOf(document, {})).map(({ headingPath, page }) => [headingPath, page]),
      [
        [['One'], 1],
        [['One', 'Two'], 3],
      ],
    );
  });

  it('locates the cells of the lines that a chunk contains, without repeated headers', async () => {
    const lines = ['name | note', ...Array.from({ length: 6 }, (_, i) => `${i} | ${sentence('Cell', 9)}`)];
    const later = ['name | note', 'last | row'];
    const text = `Title\n\n${lines.join('\n')}\n\n${later.join('\n')}`;
    const place = { sheet: "Ann's plan", column: 1, lastColumn: 27 };
    const table = { kind: 'table' as const, start: 7, end: text.length - later.join('\n').length - 2 };
    const blocks: Block[] = [
      { kind: 'heading', start: 0, end: 5, level: 1, cells: { ...place, lastColumn: 1, rows: [1] } },
      { ...table, cells: { ...place, rows: [3, 4, 5, 6, 8, 9, 10] } },
      { kind: 'table', start: table.end + 2, end: text.length, cells: { ...place, rows: [null, 11] } },
    ];
    const chunks = await chunksOf({ text, blocks }, {});
    const whole = chunks.map(({ startIndex, endIndex, cells }) => [text.slice(startIndex, endIndex), cells]);
    for (const [part = '', cells] of whole as [string, string | null][]) {
      const rows = [...part.matchAll(/^(\d) \|/gm)].map(([, i]) => [4, 5, 6, 8, 9, 10][Number(i)] ?? 0);
      const first = part.startsWith('Title') ? 1 : part.startsWith('name') ? Math.min(3, ...rows) : undefined;
      const last = part.includes('last | row') ? 11 : undefined;
      const all = [...(first === undefined ? [] : [first]), ...rows, ...(last === undefined ? [] : [last])];
      assert.equal(cells, `'Ann''s plan'!B${Math.min(...all)}:AB${Math.max(...all)}`, part);
    }
    assert.ok(whole.length > 1);
    const plain = {
      text: 'a | b',
      blocks: [
        { kind: 'table' as const, start: 0, end: 5, cells: { sheet: null, column: 0, lastColumn: 0, rows: [7] } },
      ],
    };
    assert.deepEqual(
      (await chunksOf(plain, {})).map(({ cells }) => cells),
      ['A7'],
    );
  });
});

describe('semantic', () => {
  it('cuts at a change of topic before the chunk is full', async () => {
    const about = (topic: string) => `We talk of ${topic} and nothing else here.`;
    const text = [
      ...Array(2).fill(about('fish')),
      ...Array(3).fill(about('stone')),
      ...Array(2).fill(about('music')),
    ].join(' ');
    const document = documentOf(text);
    const texts = (await chunksOf(document, { type: 'semantic', chunkSizeTokens: 40 })).map(
      ({ startIndex, endIndex }) => document.text.slice(startIndex, endIndex),
    );
    assert.deepEqual(
      texts.map((chunk) => topics.filter((topic) => chunk.includes(topic))),
      [['fish'], ['stone'], ['music']],
    );
  });
});

describe('chunkText, when aborted', () => {
  it('throws the reason of the signal', async () => {
    const controller = new AbortController();
    const stopping: ChunkingModel = {
      ...model,
      countTokens: async (texts, given) => {
        controller.abort(new Error('enough'));
        given.throwIfAborted();
        return texts.map(countOf);
      },
    };
    const strategy = { type: 'recursive', chunkSizeTokens: 32, chunkOverlapTokens: 0 } as const;
    await assert.rejects(chunkText(documentOf('a b c'), strategy, stopping, controller.signal), /enough/);
  });
});

describe('runCooperatively', () => {
  /** Runs steps to the end; returns the result and the number of steps. */
  const counted = <T>(steps: CooperativeSteps<T>): [T, number] => {
    for (let count = 1; ; count++) {
      const step = steps.next();
      if (step.done === true) return [step.value, count];
    }
  };

  it('yields to the event loop between slices, one computation per iteration', async () => {
    const turns: number[] = [];
    let turn = 0;
    const ticking = setInterval(() => {
      turn += 1;
    });
    const slow = function* (): CooperativeSteps<string> {
      for (let i = 0; i < 3; i++) {
        turns.push(turn);
        for (const from = performance.now(); performance.now() - from < 12; );
        yield;
      }
      return 'done';
    };
    assert.deepEqual(await Promise.all([runCooperatively(slow(), signal), runCooperatively(slow(), signal)]), [
      'done',
      'done',
    ]);
    clearInterval(ticking);
    // The first slice of each runs immediately.
    assert.deepEqual(turns.slice(0, 2), [0, 0]);
    assert.equal(new Set(turns.slice(2)).size, 4);
  });

  it('throws the reason of the signal between steps', async () => {
    const controller = new AbortController();
    const endless = function* (): CooperativeSteps<never> {
      for (;;) yield;
    };
    const ended = runCooperatively(endless(), controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(ended, /enough/);
  });

  it('takes steps in proportion to the text, even without white space and sentences', async () => {
    for (const unit of ['.', '👨‍👩‍👧‍👦', '漢', 'Mr. ', 'Some words, and an end. ']) {
      const text = unit.repeat(200_000 / unit.length);
      const [sentences, steps] = counted(segmentSentences(text));
      assert.ok(steps > 200_000 / 8192, unit);
      assert.equal(sentences[0]?.start, 0);
      assert.equal(sentences.at(-1)?.end, text.trimEnd().length);
    }
  });

  it('finds the same sentences as splitSentences', () => {
    const random = seeded(2);
    const text = Array.from({ length: 20_000 }, () => PIECES[Math.floor(random() * PIECES.length)]).join('');
    assert.deepEqual(counted(segmentSentences(text))[0], splitSentences(text));
    const prose = Array.from({ length: 2000 }, (_, i) => `${i} fish (e.g. Dr. A. Carp) swam, no. 7 did not.`).join(' ');
    assert.deepEqual(counted(segmentSentences(prose))[0], splitSentences(prose));
  });
});
