import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { nextPage } from '../ui/resource-table.tsx';

/** A prompt of the library. */
export type Prompt = Schema<'PromptResource'>;
/** A version of a prompt. */
export type PromptVersion = Schema<'PromptVersionResource'>;

/** Queries to refresh after a prompt changes. */
export const PROMPT_QUERIES = ['prompts', 'prompt', 'prompt-versions'] as const;
/** Maximum number of prompts in the prompt menu. */
const MENU_PROMPTS = 50;

/** Loads a prompt with its newest version. */
export const usePrompt = (id: string | null) =>
  useQuery({
    queryKey: ['prompt', id],
    enabled: id !== null,
    queryFn: () => body(api.GET('/v1/prompts/{prompt_id}', { params: { path: { prompt_id: id ?? '' } } })),
  });

/** Loads the versions of a prompt, newest first. */
export const usePromptVersions = (id: string) =>
  useInfiniteQuery({
    queryKey: ['prompt-versions', id],
    queryFn: ({ pageParam: after }) => {
      const params = { path: { prompt_id: id }, query: after === undefined ? {} : { after } };
      return body(api.GET('/v1/prompts/{prompt_id}/versions', { params }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPage,
  });

/** Searches prompts, newest first. */
export const useFoundPrompts = (search: string, enabled: boolean) =>
  useQuery({
    queryKey: ['prompts', 'menu', search],
    enabled,
    queryFn: () => {
      const query = { limit: MENU_PROMPTS, ...(search !== '' && { search }) };
      return body(api.GET('/v1/prompts', { params: { query } }));
    },
    placeholderData: (before) => before,
  });

/** Renders the shown version of a prompt with these values. */
export async function renderPrompt(
  { id, version }: Prompt,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const params = { path: { prompt_id: id } };
  const rendered = await body(api.POST('/v1/prompts/{prompt_id}/render', { params, body: { version, variables } }));
  return rendered.text;
}
