import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/**
 * Sends a JSON document that is made in pieces, as fast as the client reads it; when the client leaves, `pieces` is returned.
 * Call it when the answer is certain: a piece that throws breaks the connection.
 */
export function sendJsonStream(reply: FastifyReply, pieces: AsyncIterable<string>): void {
  reply.type('application/json; charset=utf-8').send(Readable.from(pieces, { objectMode: false }));
}
