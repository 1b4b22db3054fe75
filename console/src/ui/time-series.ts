/** Values of a line. Null: nothing to show at that time. */
export interface Series {
  label: string;
  values: (number | null)[];
}

/** Data of a time chart. */
export interface TimeChartData {
  label: string;
  /** Unix seconds, in order. */
  times: number[];
  /** One to four lines; the values of each are parallel to `times`. Keep the array between renders. */
  series: Series[];
  format(value: number): string;
  /** The first series as bars. */
  isBars?: boolean;
}
