import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/**
 * Streams a JSON document from text fragments with backpressure. Returns (ends) `fragments` when the client
 * disconnects. An error in `fragments` resets the connection, so call this after all validation.
 */
export function sendJsonStream(reply: FastifyReply, fragments: AsyncIterable<string>): void {
  reply.type('application/json; charset=utf-8').send(Readable.from(fragments, { objectMode: false }));
}
