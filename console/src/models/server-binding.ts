import type { Schema } from '../api/types.ts';

type Binding = Schema<'UpstreamBinding'>;

/** Tokens that a price of the form is for, in units of the API. */
const THOUSANDS_PER_MILLION = 1_000;

/** A server of a model id in the form. `key` tells rows apart while they move. */
export interface RouteFields {
  key: number;
  upstreamId: string;
  model: string;
  weight: number | string;
}

/** The binding of a model id to servers in the form. Empty numbers are ''. */
export interface BindingFields {
  id: string;
  routes: RouteFields[];
  contextLength: number | string;
  /** Credits per million tokens. */
  promptPrice: number | string;
  completionPrice: number | string;
  vision: boolean;
}

/** Fields of a stored binding; with `initial`, of a new one. */
export function toBindingFields(
  model: { id: string; upstream_binding: Binding | null } | null,
  initial: { upstreamId: string; model: string },
): BindingFields {
  const binding = model?.upstream_binding ?? null;
  const pricing = binding?.pricing ?? null;
  const factor = pricing?.unit === 'per_1k_tokens' ? THOUSANDS_PER_MILLION : 1;
  const routes = (binding?.routes ?? []).map((route, key) => ({
    key,
    upstreamId: route.upstream_id,
    model: route.model,
    weight: route.weight,
  }));
  return {
    id: model?.id ?? initial.model,
    routes: routes.length > 0 ? routes : [{ key: 0, ...initial, weight: 1 }],
    contextLength: binding?.context_length ?? '',
    promptPrice: pricing === null ? '' : pricing.prompt * factor,
    completionPrice: pricing === null ? '' : pricing.completion * factor,
    vision: binding?.vision ?? false,
  };
}

const toNumber = (value: number | string): number | null => (value === '' ? null : Number(value));

/** The body of the request. A price without its other half is 0 for that half. */
export function toBindingBody({ routes, contextLength, promptPrice, completionPrice, vision }: BindingFields) {
  const [prompt, completion] = [toNumber(promptPrice), toNumber(completionPrice)];
  return {
    routes: routes.map(({ upstreamId, model, weight }) => ({
      upstream_id: upstreamId,
      model,
      weight: toNumber(weight) ?? 1,
    })),
    context_length: toNumber(contextLength),
    pricing:
      prompt === null && completion === null
        ? null
        : { prompt: prompt ?? 0, completion: completion ?? 0, unit: 'per_1m_tokens' as const },
    vision,
  };
}

/** The routes with one moved a place up; the first stays. */
export function moveUp<Route>(routes: readonly Route[], index: number): Route[] {
  const [before, moved] = [routes[index - 1], routes[index]];
  if (before === undefined || moved === undefined) return [...routes];
  return routes.with(index - 1, moved).with(index, before);
}
