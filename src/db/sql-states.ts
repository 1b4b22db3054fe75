/** A unique index or primary key has the value already. Codes: PostgreSQL's documentation, appendix A. */
export const UNIQUE_VIOLATION = '23505';

/** A statement or task was cancelled: by a timeout, by a request, or by autovacuum that gives way to a lock. */
export const QUERY_CANCELED = '57014';

/** The server starts, recovers or shuts down. */
export const CANNOT_CONNECT_NOW = '57P03';
