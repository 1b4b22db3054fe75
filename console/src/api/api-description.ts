/** Reads the API description that the service serves. The browser caches it. */
export async function readApiDescription<Schema>(): Promise<{ components: { schemas: Record<string, Schema> } }> {
  const response = await fetch('/openapi.json');
  if (!response.ok) throw new Error(`The service responded with ${response.status}.`);
  return response.json();
}
