import { toFailure } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { sendForm, type UploadProgress } from '../ui/send-form.ts';

/** A knowledge base that is being imported. */
export type ImportedKnowledgeBase = Schema<'ImportedKnowledgeBase'>;

/** Uploads an archive. The fields precede the file, as the service wants them. Throws as `sendForm`. */
export function importArchive(file: File, name: string, progress: UploadProgress): Promise<ImportedKnowledgeBase> {
  const form = new FormData();
  if (name.trim() !== '') form.append('name', name.trim());
  form.append('file', file, file.name);
  return sendForm<ImportedKnowledgeBase>('/v1/knowledge-bases/import', form, progress);
}

/** Downloads a knowledge base as an archive, which the browser saves. Throws `ApiFailure`. */
export async function downloadArchive({ id, name }: { id: string; name: string }): Promise<void> {
  const response = await fetch(`/v1/knowledge-bases/${id}/export`, { method: 'POST' });
  if (!response.ok) throw await toFailure(response);
  // Browsers keep large blobs on the disk. An interrupted response throws.
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name.replaceAll(/[/\\]/g, '-')}.tar`;
  link.click();
  URL.revokeObjectURL(url);
}
