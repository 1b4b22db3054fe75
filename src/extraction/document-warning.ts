/** Possible defects of an ingested document. */
export const DOCUMENT_WARNING_CODES = ['text_missing', 'text_recognized', 'parts_skipped'] as const;

/** One of `DOCUMENT_WARNING_CODES`. */
export type DocumentWarningCode = (typeof DOCUMENT_WARNING_CODES)[number];

/** A warning of a document: it was ingested, but searches may miss part of it. */
export interface DocumentWarning {
  code: DocumentWarningCode;
  /** Message for the caller. */
  message: string;
}
