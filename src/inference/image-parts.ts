import { isIP } from 'node:net';
import type { PromptImage } from '../engines/engine.ts';
import type { ModelView } from '../engines/registry.ts';
import { invalidValue, missingField } from '../errors.ts';
import { AddressPolicy } from '../lib/address-policy.ts';

/** What decides about the images of a request. */
export interface ImageRules {
  model: Pick<ModelView, 'id'> & { capabilities: Pick<ModelView['capabilities'], 'vision'> };
  /** `QUIRE_ALLOW_PRIVATE_HOSTS`. */
  allowPrivateHosts: readonly string[] | null;
}

/** The image of a message part. */
export interface ImagePart {
  url?: string | null | undefined;
  /** Resolution, such as `low`: the model's server knows its values. */
  detail?: string | null | undefined;
  role: string;
}

const DATA_URL = /^data:image\/[\w.+-]+;base64,[A-Za-z0-9+/]/;
/** Enough of a data URL to check its type. */
const DATA_URL_HEAD = 200;
/** Names that belong to no public host. */
const PRIVATE_NAME = /^[^.]*$|\.(?:localhost|local|internal)$/;

/**
 * Checks the image of the message part at `path`. Throws 400 naming the part for a model that reads no images, and 400
 * naming `urlPath` for an image that is neither a data URL nor an address of a public host: the model's server fetches
 * it for the caller.
 */
export function parseImage(
  { url, detail, role }: ImagePart,
  { path, urlPath }: { path: string; urlPath: string },
  { model, allowPrivateHosts }: ImageRules,
): Omit<PromptImage, 'at'> {
  if (!model.capabilities.vision) throw imagesUnsupported(path, model.id);
  if (role !== 'user') throw invalidValue(path, 'must be a text part: only messages of users may have images');
  if (url == null) throw missingField(urlPath);
  if (!DATA_URL.test(url.slice(0, DATA_URL_HEAD)) && !isPublicAddress(url, allowPrivateHosts ?? []))
    throw invalidValue(urlPath, 'must be a data URL of an image in base64, or an http(s) URL of a public host');
  return { url, ...(detail != null && { detail }) };
}

/** 400 for an image that the model cannot read. */
export function imagesUnsupported(path: string, model: string) {
  return invalidValue(path, `has an image, and the model '${model}' reads text only`);
}

/** Names are not resolved: the address that the server would get may be another one. */
function isPublicAddress(text: string, allowedHosts: readonly string[]): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return false;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) !== 0) return new AddressPolicy(allowedHosts).allows(host, host);
  return allowedHosts.includes(host) || !PRIVATE_NAME.test(host);
}
