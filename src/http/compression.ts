import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from './app.ts';

/** Characters; shorter responses gain less than a packet. */
const MIN_LENGTH = 1_024;

/**
 * Compresses the JSON that browsers read, which a cookie tells from API clients: those save no time by it, and no CPU
 * time of model calls is spent. Responses of calls that create secrets are POST responses and stay uncompressed.
 */
export function compressForBrowsers(app: App): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' || payload.length < MIN_LENGTH || !isBrowserRead(request)) {
      done(null, payload);
      return;
    }
    gzip(payload, (error, compressed) => {
      if (error === null) announceGzip(reply);
      done(null, error === null ? compressed : payload);
    });
  });
}

function isBrowserRead({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.cookie !== undefined && /\bgzip\b/.test(`${headers['accept-encoding']}`);
}

function announceGzip(reply: FastifyReply): void {
  const vary = reply.getHeader('vary');
  reply
    .header('content-encoding', 'gzip')
    .header('vary', vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`);
}
