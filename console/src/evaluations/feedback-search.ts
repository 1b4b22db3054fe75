/** Options of the rating filter. */
export const RATINGS = ['all', 'down', 'up'] as const;

/** One of `RATINGS`. */
export type RatingFilter = (typeof RATINGS)[number];

/** Parses the search parameters of the feedback page. */
export const parseFeedbackSearch = ({
  rating,
}: Record<string, unknown>): { rating?: Exclude<RatingFilter, 'all'> | undefined } =>
  rating === 'up' || rating === 'down' ? { rating } : {};
