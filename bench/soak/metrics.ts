/** Metrics read from `GET /metrics`; undefined when not exposed. */
export interface Metrics {
  /** Generations that hold a slot of an engine. */
  slots: number | undefined;
  /** JavaScript heap. Shows leaks of objects, independent of the allocator. */
  heapUsedBytes: number | undefined;
  /** Buffers and WebAssembly. */
  externalBytes: number | undefined;
}

/** Reads the metrics of the service at `origin`. */
export async function readMetrics(origin: string, apiKey: string): Promise<Metrics> {
  const answer = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  const lines = answer.ok ? (await answer.text()).split('\n') : [];
  return {
    slots: sumOf(lines, 'quire_generations_in_flight'),
    heapUsedBytes: sumOf(lines, 'nodejs_heap_size_used_bytes'),
    externalBytes: sumOf(lines, 'nodejs_external_memory_bytes'),
  };
}

/** Sums the lines of a metric with labels. */
function sumOf(lines: string[], name: string): number | undefined {
  const samples = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  if (samples.length === 0) return undefined;
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
