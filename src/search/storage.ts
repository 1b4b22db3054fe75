/**
 * Splits `s3://bucket/prefix?endpoint=...&region=...` into a URL and storage options for LanceDB, which reads
 * credentials from the environment.
 */
export function parseIndexUrl(indexUrl: string): { url: string; options: Record<string, string> } {
  const { searchParams, host, pathname } = new URL(indexUrl);
  const endpoint = searchParams.get('endpoint');
  const region = searchParams.get('region');
  return {
    url: `s3://${host}${pathname}`,
    options: {
      ...(region !== null && { region }),
      ...(endpoint !== null && { endpoint, allow_http: String(endpoint.startsWith('http://')) }),
    },
  };
}
