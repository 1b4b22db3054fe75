import { useQuery } from '@tanstack/react-query';
import { api, body } from './client.ts';

/** Reads the models that the organization may use. */
export const useModels = () => useQuery({ queryKey: ['models'], queryFn: () => body(api.GET('/v1/models')) });
