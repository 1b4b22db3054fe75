import { type Dispatcher, EnvHttpProxyAgent } from 'undici';

/** Proxies from the environment. `noProxy` is a list as in `NO_PROXY`. */
export interface ProxySettings {
  httpProxy: string | null;
  httpsProxy: string | null;
  noProxy: string | null;
}

/** Creates a connection pool for the origins of a protocol, `http:` or `https:`. The environment is not read. */
export function createProxyAgent(proxy: ProxySettings, protocol: string, options: object = {}): Dispatcher {
  // Absent values would be read from the environment, and a lone HTTP proxy would be used for HTTPS too.
  const isHttps = protocol === 'https:';
  return new EnvHttpProxyAgent({
    ...options,
    httpProxy: isHttps ? '' : (proxy.httpProxy ?? ''),
    httpsProxy: isHttps ? (proxy.httpsProxy ?? '') : '',
    noProxy: proxy.noProxy ?? '',
  });
}
