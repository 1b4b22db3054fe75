import { OperatorError } from '../lib/operator-error.ts';

/** Location of blobs in an S3-compatible store. */
export interface S3Location {
  bucket: string;
  /** Prefix of every key; empty, or ends with a slash. */
  prefix: string;
  /** Null for AWS, whose endpoint follows from the region. */
  endpoint: string | null;
  region: string;
  /** Path-style addressing: the bucket is in the path of a URL, not in its host name. */
  pathStyle: boolean;
}

/** Region of requests to servers without regions. */
const DEFAULT_REGION = 'us-east-1';
const PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'path_style']);

/**
 * Parses `s3://bucket/prefix?endpoint=...&region=...&path_style=true|false`. `path_style` defaults to true with an own
 * endpoint. Throws an `OperatorError` that names the defect and the setting.
 */
export function parseS3Url(text: string, setting = 'QUIRE_BLOBS_URL'): S3Location {
  const invalidUrl = (defect: string) => new OperatorError(`${setting} has a wrong value: ${defect}.`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== 's3:' || url.hostname === '') throw invalidUrl('it must be s3://bucket/prefix');
  if (url.username !== '' || url.password !== '') {
    throw invalidUrl('it must hold no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  for (const name of url.searchParams.keys()) {
    if (!PARAMETERS.has(name)) throw invalidUrl(`'${name}' is not one of ${[...PARAMETERS].join(', ')}`);
  }
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:\/\/[^\s/]+/.test(endpoint))
    throw invalidUrl("'endpoint' must be an http or https URL");
  const pathStyle = url.searchParams.get('path_style') ?? String(endpoint !== null);
  if (pathStyle !== 'true' && pathStyle !== 'false') throw invalidUrl("'path_style' must be true or false");
  const path = decodeURIComponent(url.pathname).replaceAll(/^\/+|\/+$/g, '');
  return {
    bucket: url.hostname,
    prefix: path === '' ? '' : `${path}/`,
    endpoint,
    region: url.searchParams.get('region') ?? DEFAULT_REGION,
    pathStyle: pathStyle === 'true',
  };
}
