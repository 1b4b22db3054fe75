import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { api, body } from '../api/client.ts';
import type { Conversation } from './conversation.ts';
import { openRecordedRequest } from './recorded-request.ts';
import type { ChangeSettings } from './settings.tsx';

const route = getRouteApi('/shell/playground');

/** Initializes the conversation with the recorded request in the URL. */
export function useRecordedRequest(conversation: Conversation, change: ChangeSettings): void {
  const { request: id } = route.useSearch();
  const { data } = useQuery({
    queryKey: ['request-contents', id],
    queryFn: () => body(api.GET('/v1/requests/{request_id}/contents', { params: { path: { request_id: id ?? '' } } })),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (data === undefined) return;
    const { settings, turns } = openRecordedRequest(data);
    latest.current(settings);
    conversation.startFrom(turns);
  }, [data, conversation]);
}
