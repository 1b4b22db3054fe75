import { OperatorError } from '../lib/operator-error.ts';

/** Where an S3-compatible store keeps our blobs. */
export interface S3Location {
  bucket: string;
  /** Put before every key; empty, or ends with a slash. */
  prefix: string;
  /** Null: Amazon's own, by the region. */
  endpoint: string | null;
  region: string;
  /** Whether the bucket stands in the path of a URL, not in its host name. */
  pathStyle: boolean;
}

/** What servers that know no regions are told, and Amazon's oldest. */
const DEFAULT_REGION = 'us-east-1';
const PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'path_style']);

/**
 * Reads `s3://bucket/prefix?endpoint=...&region=...&path_style=true|false`. Own endpoints get the bucket in the path unless
 * it says otherwise. Throws a `OperatorError` that names what is wrong.
 */
export function parseS3Url(text: string): S3Location {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== 's3:' || url.hostname === '') throw wrong('it must be s3://bucket/prefix');
  if (url.username !== '' || url.password !== '') {
    throw wrong('it must hold no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  for (const name of url.searchParams.keys()) {
    if (!PARAMETERS.has(name)) throw wrong(`'${name}' is none of ${[...PARAMETERS].join(', ')}`);
  }
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:\/\/[^\s/]+/.test(endpoint))
    throw wrong("'endpoint' must be an http or https URL");
  const pathStyle = url.searchParams.get('path_style') ?? String(endpoint !== null);
  if (pathStyle !== 'true' && pathStyle !== 'false') throw wrong("'path_style' must be true or false");
  const path = decodeURIComponent(url.pathname).replaceAll(/^\/+|\/+$/g, '');
  return {
    bucket: url.hostname,
    prefix: path === '' ? '' : `${path}/`,
    endpoint,
    region: url.searchParams.get('region') ?? DEFAULT_REGION,
    pathStyle: pathStyle === 'true',
  };
}

const wrong = (why: string): OperatorError => new OperatorError(`QUIRE_BLOBS_URL has a wrong value: ${why}.`);
