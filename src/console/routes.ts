import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyReply } from 'fastify';
import type { App } from '../http/app.ts';
import { isNavigation } from '../http/error-handler.ts';
import { UNLIMITED_HEADERS } from '../http/rate-limit.ts';

/** The build of `console/`. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../console/dist', import.meta.url));

/** First segments of the paths of pages. The console routes the rest, so that every page has a URL of its own. */
const PAGES = [
  'sign-in',
  'join',
  'reset',
  'start',
  'chat',
  'overview',
  'playground',
  'keys',
  'members',
  'knowledge-bases',
  'files',
  'batches',
  'guardrails',
  'models',
  'feedback',
  'usage',
  'requests',
  'alerts',
  'mcp-servers',
  'presets',
  'prompts',
  'cache',
  'organizations',
  'audit',
  'settings',
] as const;

/** A path of the API without `/v1`, which is below a page but is none. */
const CHAT_WITHOUT_V1 = '/chat/completions';

/**
 * Content-Security-Policy of the console. Scripts come from files of the build only. Mantine writes its theme variables
 * into a style element, hence inline styles.
 */
const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const NOT_BUILT =
  'The console is not built: run `npm ci` and restart the service. For a small install, run `npm prune --omit=dev` after it. The API description is at /openapi.json.\n';

/** Whether the console was built. */
export const isConsoleBuilt = (folder = CONSOLE_FOLDER): boolean => existsSync(join(folder, 'index.html'));

/** Serves the console at `/`: one page for all paths, and files with a hash in their names. Null: not built. */
export async function consoleRoutes(app: App, folder: string | null): Promise<void> {
  if (folder === null || !isConsoleBuilt(folder)) {
    app.get('/', { schema: { hide: true }, config: { scope: 'public' } }, async (_request, reply) =>
      reply.type('text/plain; charset=utf-8').send(NOT_BUILT),
    );
    redirectDocs(app, '/openapi.json');
    return;
  }
  await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, cacheControl: false });
  guideRoutes(app, folder);
  const sendPage = (reply: FastifyReply) =>
    reply.header('content-security-policy', CONSOLE_POLICY).header('cache-control', 'no-cache').sendFile('index.html');
  app.get('/', { schema: { hide: true }, config: { scope: 'public' } }, async (_request, reply) => sendPage(reply));
  for (const path of PAGES.flatMap((page) => [`/${page}`, `/${page}/*`])) {
    const config = { scope: 'public', isPage: true } as const;
    app.get(path, { schema: { hide: true }, config }, async (request, reply) =>
      // An API client whose base URL lacks `/v1` gets an error that it understands.
      isNavigation(request) && !request.url.startsWith(CHAT_WITHOUT_V1) ? sendPage(reply) : reply.callNotFound(),
    );
  }
  // The page says that the path does not exist. Without validators: a 304 would become a 404 without a page.
  app.notFoundPage = (reply) =>
    reply
      .header('content-security-policy', CONSOLE_POLICY)
      .sendFile('index.html', { etag: false, lastModified: false });
  app.get('/favicon.svg', { schema: { hide: true }, config: { scope: 'public' } }, async (_request, reply) =>
    withoutApiHeaders(reply).header('cache-control', 'public, max-age=86400').sendFile('favicon.svg'),
  );
  app.get('/assets/*', { schema: { hide: true }, config: { scope: 'public' } }, async (request, reply) => {
    const name = (request.params as { '*': string })['*'];
    // A file never changes: its name has a hash of its content. Browsers need no validators and no ranges of it.
    return withoutApiHeaders(reply)
      .header('cache-control', 'public, max-age=31536000, immutable')
      .sendFile(`assets/${name}`, { etag: false, lastModified: false, acceptRanges: false });
  });
}

/** Removes the headers of rate limits: files have none, and a page loads about 20 files. */
function withoutApiHeaders(reply: FastifyReply): FastifyReply {
  for (const name of Object.keys(UNLIMITED_HEADERS)) reply.removeHeader(name);
  return reply;
}

const GUIDE_PATH = '/docs/guide';

/** Content-Security-Policy of the guide: files of the build only. */
const GUIDE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Redirects `/docs` to the API reference. */
function redirectDocs(app: App, target: string): void {
  app.get('/docs', { schema: { hide: true }, config: { scope: 'public' } }, async (_request, reply) =>
    reply.redirect(target),
  );
}

/** Serves the guide at `/docs/guide` from `folder/guide`. The static files of `folder` are registered. */
function guideRoutes(app: App, folder: string): void {
  const options = { schema: { hide: true }, config: { scope: 'public' } } as const;
  const send = (reply: FastifyReply, file: string) => {
    if (!existsSync(join(folder, file))) return reply.callNotFound();
    return reply.header('content-security-policy', GUIDE_POLICY).header('cache-control', 'no-cache').sendFile(file);
  };
  redirectDocs(app, `${GUIDE_PATH}/api/all`);
  app.get(GUIDE_PATH, options, async (_request, reply) => send(reply, 'guide/index.html'));
  app.get(`${GUIDE_PATH}/*`, options, async (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    if (path === '') return reply.redirect(GUIDE_PATH);
    // Fastify has decoded the path.
    if (path.split('/').includes('..')) return reply.callNotFound();
    return send(reply, `guide/${path}${path.startsWith('assets/') ? '' : '.html'}`);
  });
}
