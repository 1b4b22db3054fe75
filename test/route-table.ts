/** The routes of the API as Fastify registers them, so that a test over all routes cannot miss a new one. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { apiDescription } from '../tools/api-description.ts';

/** A registered route. */
export interface Route extends Pick<RouteOptions, 'url' | 'config'> {
  method: string;
  /** Names of the path parameters. */
  params: string[];
  /** Dotted paths of the fields of body and query that may have an id of a resource, such as `config.file_ids`. */
  idFields: string[];
}

/** Fields with ids of resources that belong to an organization. */
const ID_FIELD = /(^|_)ids?$|^knowledge_bases$/;

/** Lists the routes of the API under `/v1`. */
export async function listRoutes(): Promise<Route[]> {
  const routes: Route[] = [];
  const onStart = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url, schema, config }) => {
      for (const name of [method].flat()) {
        if (!url.startsWith('/v1/') || name === 'HEAD' || name === 'OPTIONS') continue;
        const params = [...url.matchAll(/:(\w+)/g)].map(([, param]) => param ?? '');
        const idFields = [...idPaths(schema?.body, ''), ...idPaths(schema?.querystring, '')];
        routes.push({ method: name, url, params, idFields: [...new Set(idFields)], ...(config && { config }) });
      }
    });
  };
  subscribe('fastify.initialization', onStart);
  try {
    await apiDescription();
  } finally {
    unsubscribe('fastify.initialization', onStart);
  }
  if (routes.length === 0) throw new Error('Fastify has not announced its start: no route was seen');
  return routes;
}

/** `METHOD /path` of a route. */
export const routeName = ({ method, url }: Pick<Route, 'method' | 'url'>): string => `${method} ${url}`;

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
