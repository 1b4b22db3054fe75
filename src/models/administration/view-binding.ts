import type { UpstreamModelRow } from '../upstreams/store.ts';
import type { UpstreamBinding } from './schema.ts';

/** A binding to servers as the API shows it; null without one. */
export function viewBinding(row: UpstreamModelRow | undefined): UpstreamBinding | null {
  if (row === undefined) return null;
  const { routes, contextLength, pricing, vision } = row;
  return { routes, context_length: contextLength, pricing, vision };
}
