import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDocx, wordParagraph } from '../../test/fixtures/documents-docx.ts';
import { column, makePdf } from '../../test/fixtures/documents-pdf.ts';

/** A fictional handbook: pages of a heading and lines. */
const HANDBOOK: readonly { heading: string; lines: readonly string[] }[] = [
  {
    heading: '1 Welcome to the harbour',
    lines: [
      'The harbour office of Tern Bay is open every day from seven in the morning until nine at night.',
      'Visiting boats report on channel 12 before they pass the outer light.',
      '',
      'The harbour master is Ida Lund. Her deputy on weekends is Tomas Brandt.',
    ],
  },
  {
    heading: '2 Berths',
    lines: [
      'A berth is reserved for a guest until six in the evening, and given to the next boat after that.',
      'Boats longer than eighteen metres lie at the outer quay, where the water is five metres deep.',
      '',
      'Electricity is included in the fee of a berth. Water is taken at the blue taps only.',
    ],
  },
  {
    heading: '3 When the siren sounds',
    lines: [
      'One long tone means fog: no boat leaves the harbour until the tone has ended.',
      'Three short tones mean a storm warning: every boat doubles its lines within half an hour.',
      '',
      'The siren is tested on the first Monday of each month at noon.',
    ],
  },
];
const FEES = ['boat,day,week', 'up to 8 m,14,80', '8 to 12 m,19,110', '12 to 18 m,27,160', 'longer than 18 m,41,240'];
const FERRY = [
  '# The ferry',
  '',
  'The ferry to Gull Island leaves at 8:10, 11:40 and 16:30. The crossing takes 35 minutes.',
  '',
  '## Bicycles',
  '',
  'Bicycles travel free of charge, but no more than twelve of them fit on one crossing.',
];

const RULES = [
  'Rules of the slipway',
  'The slipway is free for members. Guests pay nine crowns for each launch at the kiosk.',
  'Trailers are parked behind the boat shed and carry the name of their boat.',
];
const NOTICE = [
  '<!doctype html><html><head><title>Dredging in March</title></head><body><article><h1>Dredging in March</h1>',
  '<p>From the third to the ninth of March the inner basin is dredged. Boats that lie there move to the outer quay by the second.</p>',
  '<p>The crane is not in use that week. Whoever needs it calls Tomas Brandt.</p></article></body></html>',
];
const HISTORY = [
  'The harbour of Tern Bay was built in 1887 for the herring boats.',
  '',
  'Its lighthouse was moved twice, the last time in 1954, when the breakwater was made longer.',
];

/** Writes the documents of a fictional harbour into a folder, one in each of six formats. */
export function recordDocuments(folder: string): void {
  const pages = HANDBOOK.map(({ heading, lines }) => [
    { text: heading, x: 60, y: 720, size: 18 },
    ...column(lines, 60, 685),
  ]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'handbook.pdf'), makePdf(pages, { info: { Title: 'Handbook of the harbour' } }));
  writeFileSync(join(folder, 'slipway.docx'), makeDocx(RULES.map((text) => wordParagraph(text)).join('')));
  writeFileSync(join(folder, 'dredging.html'), NOTICE.join('\n'));
  writeFileSync(join(folder, 'history.txt'), `${HISTORY.join('\n')}\n`);
  writeFileSync(join(folder, 'fees.csv'), `${FEES.join('\n')}\n`);
  writeFileSync(join(folder, 'ferry.md'), `${FERRY.join('\n')}\n`);
}
