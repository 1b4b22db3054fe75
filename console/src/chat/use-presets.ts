import { useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';

/** A preset without the fields that only owners can read. */
export type Preset = Schema<'ChatPresetResource'>;
/** A selected preset. The name of a deleted preset is null. */
export type PresetChoice = Pick<Schema<'ChatPresetSummary'>, 'id' | 'name'>;

const PRESETS = 100;

/** Loads the presets that the user may choose, in their order. Undefined while loading. */
export function usePresets(): Preset[] | undefined {
  const { organization } = useSession();
  const query = useQuery({
    queryKey: ['chat-presets', organization.id, 'published'],
    queryFn: () => body(api.GET('/v1/chat-presets', { params: { query: { limit: PRESETS } } })),
  });
  return query.data?.data.filter(({ published }) => published);
}
