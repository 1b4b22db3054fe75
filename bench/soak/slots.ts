const GAUGE = 'quire_generations_in_flight';

/** Generations that still hold a slot, from `GET /metrics`; undefined when the gauge is not exposed. */
export async function slotsInFlight(origin: string, apiKey: string): Promise<number | undefined> {
  const answer = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  if (!answer.ok) return undefined;
  const samples = (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith(`${GAUGE} `) || line.startsWith(`${GAUGE}{`));
  if (samples.length === 0) return undefined;
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
