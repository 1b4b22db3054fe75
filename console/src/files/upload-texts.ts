import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import type { UploadDefect, UploadLimits } from './check-upload.ts';
import { useFileMessages } from './messages.ts';

/** Sentences about the limits of uploads, in the language of the console. */
export function useUploadTexts() {
  const files = useFileMessages();
  const format = useFormat();
  return {
    /** The accepted file types and the size limit of a purpose. */
    limits: ({ max_bytes: maxBytes, extensions }: UploadLimits, purpose: string) =>
      fill(files.limits, { extensions: (extensions[purpose] ?? []).join(', '), limit: format.bytes(maxBytes) }),
    /** Why a file was not uploaded. */
    defect: (defect: UploadDefect): string => {
      if (defect.kind === 'empty') return files.defects.empty;
      if (defect.kind === 'type') return fill(files.defects.type, { extensions: defect.extensions.join(', ') });
      return fill(files.defects.tooLarge, { limit: format.bytes(defect.maxBytes) });
    },
  };
}
