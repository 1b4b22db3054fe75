/**
 * What LanceDB needs to reach an `s3://bucket/prefix?endpoint=...&region=...`: the URL without its query, and the query as its options.
 * Credentials come from the environment, where the store's own client looks for them.
 */
export function storageOf(indexUrl: string): { url: string; options: Record<string, string> } {
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
