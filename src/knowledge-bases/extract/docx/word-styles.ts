import type { Archive } from './archive.ts';
import { readXml } from './xml.ts';

/** Styles on which a style is based, in a row. */
const MAX_BASES = 20;

interface Style {
  name: string;
  basedOn: string | null;
  outline: number | null;
  numbering: string | null;
}

/** What a document says of its styles. */
export interface WordStyles {
  /** 1 to 6 for the style of a heading; null for others. */
  headingLevel(style: string | null): number | null;
  /** The list that paragraphs of the style are in; null for those in none. */
  numberingOf(style: string | null): string | null;
}

/** Reads the styles of a Word document. */
export async function readStyles(archive: Archive, part: string): Promise<WordStyles> {
  const styles = new Map<string, Style>();
  let open: Style | null = null;
  await readXml(archive.read(part), {
    open: (name, { styleId = '', val = '' }) => {
      if (name === 'style') {
        open = { name: '', basedOn: null, outline: null, numbering: null };
        styles.set(styleId, open);
      } else if (open !== null && name === 'name') open.name = val;
      else if (open !== null && name === 'basedOn') open.basedOn = val;
      else if (open !== null && name === 'outlineLvl') open.outline = Number(val);
      else if (open !== null && name === 'numId') open.numbering = val;
    },
    close: (name) => {
      if (name === 'style') open = null;
    },
    text: () => {},
  });
  const first = <T>(style: string | null, of: (style: Style) => T | null): T | null => {
    let at = styles.get(style ?? '');
    for (let i = 0; at !== undefined && i < MAX_BASES; i++) {
      const value = of(at);
      if (value !== null) return value;
      at = styles.get(at.basedOn ?? '');
    }
    return null;
  };
  return {
    headingLevel: (style) => (style === null ? null : (first(style, levelOf) ?? levelOfName(style))),
    numberingOf: (style) => first(style, ({ numbering }) => numbering),
  };
}

function levelOf({ name, outline }: Style): number | null {
  if (outline !== null) return outline >= 0 && outline < 9 ? Math.min(outline + 1, 6) : null;
  return levelOfName(name);
}

function levelOfName(name: string): number | null {
  if (/^title$/i.test(name)) return 1;
  const level = /^heading ?([1-9])$/i.exec(name)?.[1];
  return level === undefined ? null : Math.min(Number(level), 6);
}
