import { format, isDateFormat } from 'numfmt';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { Archive } from '../office/archive.ts';
import { readXml } from '../office/xml.ts';

/** Days from the epoch of 1900 to that of 1904, which old versions for the Mac used. */
const DAYS_TO_1904 = 1462;
const GENERAL = 'General';
/**
 * Built-in formats by id (ISO/IEC 29500-1, 18.8.30). The program shows 14 and 22 as the region of the reader has it;
 * ISO 8601 is unambiguous.
 */
const BUILT_IN: Readonly<Record<number, string>> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  9: '0%',
  10: '0.00%',
  11: '0.00E+00',
  12: '# ?/?',
  13: '# ??/??',
  14: 'yyyy-mm-dd',
  15: 'd-mmm-yy',
  16: 'd-mmm',
  17: 'mmm-yy',
  18: 'h:mm AM/PM',
  19: 'h:mm:ss AM/PM',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'yyyy-mm-dd h:mm',
  37: '#,##0;(#,##0)',
  38: '#,##0;(#,##0)',
  39: '#,##0.00;(#,##0.00)',
  40: '#,##0.00;(#,##0.00)',
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mm:ss.0',
  48: '##0.0E+0',
};

/** Reads the number formats of cell styles, by index. */
export async function readNumberFormats(archive: Archive, part: string): Promise<string[]> {
  const custom = new Map<number, string>();
  const ids: number[] = [];
  let isCellStyle = false;
  await readXml(archive.read(part), {
    open: (name, { numFmtId = '0', formatCode = GENERAL }) => {
      if (name === 'numFmt') custom.set(Number(numFmtId), formatCode);
      else if (name === 'cellXfs') isCellStyle = true;
      else if (name === 'xf' && isCellStyle) ids.push(Number(numFmtId));
    },
    close: (name) => {
      if (name === 'cellXfs') isCellStyle = false;
    },
  });
  return ids.map((id) => custom.get(id) ?? BUILT_IN[id] ?? GENERAL);
}

/** Formats a number as Excel shows it. Returns null for text that is not a number. */
export function formatCell(value: number, code: string = GENERAL, is1904 = false): string | null {
  if (!Number.isFinite(value)) return null;
  // All 15 digits that Excel stores: it shows fewer only for lack of space.
  const plain = String(Number(value.toPrecision(15)));
  if (code === GENERAL || code === '@') return plain;
  const isDate = isDateFormat(code);
  // Numbers outside the calendar are shown as numbers.
  if (isDate && (value < 0 || value >= 2_958_466)) return plain;
  const isDuration = /\[[hms]+\]/i.test(code);
  const shown = format(code, isDate && is1904 && !isDuration ? value + DAYS_TO_1904 : value, { throws: false });
  return collapseWhitespace(shown);
}
