import { type AdminDeps, adminRoutes } from '../app.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { unlimited } from '../http/rate-limit.ts';
import { createServer } from '../http/server.ts';
import { OPERATOR } from '../lib/caller.ts';

/** A request of a command to the admin API. */
export interface OperatorRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: object;
}

/** Status and JSON body of a response of the admin API. */
export interface OperatorResponse {
  status: number;
  body: unknown;
}

/**
 * The admin API of commands. It listens nowhere: requests come from this process or through the command socket, whose
 * file only the user of the service may open, and are those of the operator.
 */
export function openOperatorApi(
  deps: AdminDeps & Pick<Deps, 'logger'>,
): (request: OperatorRequest) => Promise<OperatorResponse> {
  // Created by the first command: most services never get one.
  let opening: Promise<App> | null = null;
  return async ({ method, path, body }) => {
    opening ??= createOperatorApp(deps);
    const app = await opening;
    const response = await app.inject({ method, url: path, ...(body !== undefined && { payload: body }) });
    return { status: response.statusCode, body: response.json() };
  };
}

async function createOperatorApp(deps: AdminDeps & Pick<Deps, 'logger'>): Promise<App> {
  const { bodyLimitBytes } = deps.config;
  const authenticate = () => OPERATOR;
  const options = { logger: deps.logger, bodyLimitBytes, corsOrigins: null, requestTimeoutMs: 0 };
  const app = await createServer({ ...options, authenticate, limiter: unlimited });
  adminRoutes(app, deps);
  return app;
}
