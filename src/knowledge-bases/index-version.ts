/** Version of the index format: its columns and the tokenization of its terms. A change rebuilds all indexes. */
export const INDEX_VERSION = 1;
