import type { FastifyRequest } from 'fastify';

const ADDRESS = /^(127\.|::1$|::ffff:127\.)/;
/** Headers that proxies add. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * Whether a request comes from this machine. Requests that a local proxy forwards arrive from loopback as well; the
 * proxy adds a header to them.
 */
export function isLocalRequest({ headers, ip }: Pick<FastifyRequest, 'headers' | 'ip'>): boolean {
  return !PROXY_HEADERS.some((name) => name in headers) && ADDRESS.test(ip);
}
