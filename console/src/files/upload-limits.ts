import { queryOptions } from '@tanstack/react-query';
import { readApiDescription } from '../api/api-description.ts';
import type { UploadLimits } from './check-upload.ts';

interface FormSchema {
  properties?: { file?: { 'x-limits'?: UploadLimits } };
}

/** The limits of uploads, from the API description that the service serves. */
export const uploadLimits = queryOptions({
  queryKey: ['upload-limits'],
  queryFn: async (): Promise<UploadLimits> => {
    const { components } = await readApiDescription<FormSchema>();
    const limits = components.schemas['UploadForm']?.properties?.file?.['x-limits'];
    if (limits === undefined) throw new Error('The API description has no limits of uploads.');
    return limits;
  },
  staleTime: Number.POSITIVE_INFINITY,
});
