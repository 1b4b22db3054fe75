/** What is used of an annotation as pdf.js gives it. */
export interface PageAnnotation {
  subtype?: string;
  /** `Tx` for text, `Ch` for a choice; others are buttons and signatures. */
  fieldType?: string;
  fieldValue?: unknown;
  /** Lower left and upper right corner, in points. */
  rect?: number[];
  hidden?: boolean;
  password?: boolean;
  defaultAppearanceData?: { fontSize?: number };
  options?: { exportValue: string; displayValue: string }[];
}

/** A text on a page, in the form that pdf.js has for all others. */
export interface FieldText {
  str: string;
  dir: string;
  width: number;
  height: number;
  transform: number[];
}

/** Points. The size of letters where a field leaves it to the program that shows it. */
const USUAL_SIZE = 12;
/** A letter's width in sizes, on the average, and the height of a line. */
const LETTER = 0.5;
const LINE = 1.2;

/** What the fields of a form hold, as texts where they stand: the text of a page has the form's own words only. */
export function fieldTexts(annotations: readonly PageAnnotation[]): FieldText[] {
  return annotations.flatMap((annotation) => {
    const { subtype, rect = [], hidden, password, defaultAppearanceData } = annotation;
    if (subtype !== 'Widget' || hidden === true || password === true) return [];
    const [left = 0, bottom = 0, right = 0, top = 0] = rect;
    const size = defaultAppearanceData?.fontSize || Math.min(USUAL_SIZE, top - bottom);
    const lines = shownValue(annotation).split(/\r\n?|\n/);
    // The first line stands on the middle of a field of one line, and at the top of a higher one.
    const first = Math.max(top - LINE * size, (top + bottom - size) / 2);
    return lines.flatMap((line, i) => {
      if (line.trim() === '' || !(size > 0)) return [];
      const width = Math.min(Math.max(right - left, 0), line.length * size * LETTER);
      // What is right beside it is another word.
      const str = ` ${line} `;
      return [{ str, dir: 'ltr', width, height: size, transform: [size, 0, 0, size, left, first - i * LINE * size] }];
    });
  });
}

/** What is shown of a field's value; '' for what is no text. */
function shownValue({ fieldType, fieldValue, options = [] }: PageAnnotation): string {
  if (fieldType === 'Tx') return typeof fieldValue === 'string' ? fieldValue : '';
  if (fieldType !== 'Ch') return '';
  const values = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]).filter((value) => typeof value === 'string');
  const shown = values.map((value) => options.find(({ exportValue }) => exportValue === value)?.displayValue ?? value);
  return shown.join(', ');
}
