/** What a soak reads from `GET /metrics`; undefined where it is not exposed. */
export interface Metrics {
  /** Generations that hold a slot of an engine. */
  slots: number | undefined;
  /** Memory in JavaScript's heap: a leak of objects shows here, the allocator's habits do not. */
  heapUsedBytes: number | undefined;
  /** Buffers and WebAssembly, which is where the embedded database lives. */
  externalBytes: number | undefined;
}

/** Asks Quire at `origin` for its metrics. */
export async function readMetrics(origin: string, apiKey: string): Promise<Metrics> {
  const answer = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  const lines = answer.ok ? (await answer.text()).split('\n') : [];
  return {
    slots: sumOf(lines, 'quire_generations_in_flight'),
    heapUsedBytes: sumOf(lines, 'nodejs_heap_size_used_bytes'),
    externalBytes: sumOf(lines, 'nodejs_external_memory_bytes'),
  };
}

/** A metric may have labels, and then has a line for each of them. */
function sumOf(lines: string[], name: string): number | undefined {
  const samples = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  if (samples.length === 0) return undefined;
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
