import type { ReaderInput } from '../extracted-document.ts';
import { isMostlyUnmapped, type PageOutcome } from './missing-text.ts';
import { type NumberedTask, type Recognition, recognizePages } from './ocr/recognize-pages.ts';
import type { PageLines } from './running-lines.ts';

/** Pages of a PDF with the outcome of each. */
export interface ReadPages {
  pages: readonly PageLines[];
  outcomes: readonly PageOutcome[];
}

/** Characters of a page that may be a scan all the same, such as a stamp or the name of the scanner's program. */
const MAX_SCAN_CHARACTERS = 100;
/** OCR replaces the text of a page when it reads this many times as much. */
const MIN_GAIN = 2;

/**
 * Reads pages without text by OCR: pages that are empty, in fonts without a mapping to Unicode or damaged, and scans
 * with few characters of text. `recognition` holds the pages that OCR replaced; null when OCR is off.
 */
export async function readScans(
  input: ReaderInput,
  { pages, outcomes }: ReadPages,
): Promise<ReadPages & { recognition: Recognition | null }> {
  const recognition = await recognizePages(input, selectScans({ pages, outcomes }));
  if (recognition === null) return { pages, outcomes, recognition };
  const used = new Map(
    [...recognition.pages].filter(([number, recognized]) => {
      const printed = readText(pages[number - 1]);
      return isMostlyUnmapped(printed) || readText(recognized).length > MIN_GAIN * printed.length;
    }),
  );
  return {
    pages: pages.map((page, index) => used.get(index + 1) ?? page),
    // An empty page is blank, or a picture without text: OCR has shown it.
    outcomes: outcomes.map((outcome, index) => (used.has(index + 1) || outcome === 'empty' ? 'read' : outcome)),
    recognition: { ...recognition, pages: used },
  };
}

function selectScans({ pages, outcomes }: ReadPages): NumberedTask[] {
  return outcomes.flatMap((outcome, index): NumberedTask[] => {
    const text = readText(pages[index]);
    const isScan = text === '' || isMostlyUnmapped(text);
    if (!isScan && (outcome !== 'read' || text.length > MAX_SCAN_CHARACTERS)) return [];
    return [{ kind: 'pdf', page: index + 1, isScanOnly: !isScan }];
  });
}

const readText = (page: PageLines | undefined): string => (page?.lines ?? []).map(({ text }) => text).join('\n');
