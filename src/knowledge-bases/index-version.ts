/** Version of the index format: of its columns, and of the terms that texts are split into. A change makes all indexes rebuild. */
export const INDEX_VERSION = 1;
