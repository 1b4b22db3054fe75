/** The routes of the API as Fastify registers them, so that a test over all routes cannot miss a new one. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { apiDescription } from '../tools/api-description.ts';

/** A registered route. */
export interface Route extends Pick<RouteOptions, 'url' | 'config'> {
  method: string;
  /** Constraint of a route that shares method and path with another one; null without. */
  constraint: string | null;
  /** Whether it declares a body. */
  hasBody: boolean;
  /** Names of the path parameters. */
  params: string[];
  /** Dotted paths of the fields of body and query that may have an id of a resource, such as `config.file_ids`. */
  idFields: string[];
}

/** Fields with ids of resources that belong to an organization. */
const ID_FIELD = /(^|_)ids?$|^knowledge_bases$/;

/** Paths of routes for clients with a key. */
const CLIENT_PATHS = ['/v1/', '/api/'];

/** Lists the routes whose paths start with one of `prefixes`. */
export async function listRoutes(...prefixes: readonly string[]): Promise<Route[]> {
  const registered: RouteOptions[] = [];
  const onStart = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance };
    // Later hooks of Quire may still change the options.
    fastify.addHook('onRoute', (options) => void registered.push(options));
  };
  subscribe('fastify.initialization', onStart);
  try {
    await apiDescription();
  } finally {
    unsubscribe('fastify.initialization', onStart);
  }
  if (registered.length === 0) throw new Error('Fastify has not announced its start: no route was seen');
  const isListed = ({ url }: RouteOptions) =>
    (prefixes.length > 0 ? prefixes : CLIENT_PATHS).some((prefix) => url.startsWith(prefix));
  return registered.filter(isListed).flatMap(toRoutes);
}

function toRoutes({ method, url, schema, config, constraints = {} }: RouteOptions): Route[] {
  const constraint = Object.keys(constraints)[0] ?? null;
  const params = [...url.matchAll(/:(\w+)/g)].map(([, param]) => param ?? '');
  const idFields = [...new Set([...idPaths(schema?.body, ''), ...idPaths(schema?.querystring, '')])];
  const names = [method].flat().filter((name) => name !== 'HEAD' && name !== 'OPTIONS');
  const hasBody = schema?.body !== undefined;
  return names.map((name) => ({ method: name, url, constraint, params, idFields, hasBody, ...(config && { config }) }));
}

/** `METHOD /path` of a route, with its constraint. */
export const routeName = ({ method, url, constraint }: Pick<Route, 'method' | 'url' | 'constraint'>): string =>
  constraint === null ? `${method} ${url}` : `${method} ${url} (${constraint})`;

function idPaths(schema: unknown, path: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((member) => idPaths(member, path));
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, items, anyOf, oneOf, allOf } = schema as Record<string, object | undefined>;
  const own = Object.entries(properties ?? {}).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [...(ID_FIELD.test(name) ? [at] : []), ...idPaths(value, at)];
  });
  return [...own, ...idPaths(items, path), ...[anyOf, oneOf, allOf].flatMap((branch) => idPaths(branch, path))];
}
