import type { TSchema } from 'typebox';
import type { ApiError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How errors and streams of the route are rendered. Absent: as OpenAI's. */
    protocol?: Protocol;
  }
}

/** What the routes of one protocol have in common on the wire. */
export interface Protocol {
  /** Body of an error response, and the last event of a stream that fails. */
  errorBody(error: ApiError, requestId: string): object;
  /** Schema of `errorBody`, for the API description. Its title ends in `ErrorResponse`. */
  errorSchema: TSchema;
  stream: StreamFormat;
  /** Header with the id of the request, beside `x-request-id`. */
  requestIdHeader?: string;
}

/** How events become bytes. */
export interface StreamFormat {
  contentType: string;
  frame(event: object): string;
  /** What ends a complete stream. */
  end: string;
  /** Sent while there is no event; clients ignore it. Null: the format has none. */
  keepAlive: string | null;
}

/** OpenAI's server-sent events: frames with JSON, then `[DONE]`. A stream without it is truncated. */
export const OPENAI_STREAM: StreamFormat = {
  contentType: 'text/event-stream; charset=utf-8',
  frame: (event) => `data: ${JSON.stringify(event)}\n\n`,
  end: 'data: [DONE]\n\n',
  keepAlive: ': keep-alive\n\n',
};
