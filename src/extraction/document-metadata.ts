/** A metadata value. Dates are ISO 8601 strings. */
export type MetadataValue = string | number | boolean;

/** Metadata of a document, flattened: nested keys become dotted names such as `author.name`. */
export type DocumentMetadata = Record<string, MetadataValue | MetadataValue[]>;
