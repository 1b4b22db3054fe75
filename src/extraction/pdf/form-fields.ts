/** The used part of an annotation of pdf.js. */
export interface PageAnnotation {
  subtype?: string;
  /** `Tx`: text, `Ch`: choice; others are buttons and signatures. */
  fieldType?: string;
  fieldValue?: unknown;
  /** Lower left and upper right corners, in points. */
  rect?: number[];
  hidden?: boolean;
  password?: boolean;
  defaultAppearanceData?: { fontSize?: number };
  options?: { exportValue: string; displayValue: string }[];
}

/** The value of a form field, in the form of a text item of pdf.js. */
export interface FieldText {
  str: string;
  dir: string;
  width: number;
  height: number;
  transform: number[];
}

/** Font size of fields with automatic size, in points. */
const DEFAULT_SIZE = 12;
/** Average width of a letter and height of a line, in font sizes. */
const LETTER_WIDTH = 0.5;
const LINE_HEIGHT = 1.2;

/** Returns the values of form fields as text items at their positions; a page's own text has only the labels. */
export function formFieldTexts(annotations: readonly PageAnnotation[]): FieldText[] {
  return annotations.flatMap((annotation) => {
    const { subtype, rect = [], hidden, password, defaultAppearanceData } = annotation;
    if (subtype !== 'Widget' || hidden === true || password === true) return [];
    const [left = 0, bottom = 0, right = 0, top = 0] = rect;
    const size = defaultAppearanceData?.fontSize || Math.min(DEFAULT_SIZE, top - bottom);
    const lines = displayedValue(annotation).split(/\r\n?|\n/);
    // Text is centered vertically in single-line fields, and starts at the top of higher ones.
    const first = Math.max(top - LINE_HEIGHT * size, (top + bottom - size) / 2);
    return lines.flatMap((line, i) => {
      if (line.trim() === '' || !(size > 0)) return [];
      const width = Math.min(Math.max(right - left, 0), line.length * size * LETTER_WIDTH);
      // Spaces separate the value from adjacent text.
      const str = ` ${line} `;
      return [
        { str, dir: 'ltr', width, height: size, transform: [size, 0, 0, size, left, first - i * LINE_HEIGHT * size] },
      ];
    });
  });
}

/** The displayed value of a field; empty for buttons and signatures. */
function displayedValue({ fieldType, fieldValue, options = [] }: PageAnnotation): string {
  if (fieldType === 'Tx') return typeof fieldValue === 'string' ? fieldValue : '';
  if (fieldType !== 'Ch') return '';
  const values = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]).filter((value) => typeof value === 'string');
  const labels = values.map((value) => options.find(({ exportValue }) => exportValue === value)?.displayValue ?? value);
  return labels.join(', ');
}
