import { type Static, Type } from 'typebox';
import { deletedSchema, ListOrder, ListQuery, NameSearch } from '../db/page.ts';
import { MAX_FILE_BYTES } from '../extraction/limits.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { REQUEST_PURPOSES, STORED_PURPOSES, UPLOAD_EXTENSIONS } from './formats.ts';

/** Size limit of uploads: 512 MiB. */
export const MAX_UPLOAD_BYTES = MAX_FILE_BYTES;

const Purpose = Type.Enum([...STORED_PURPOSES]);

/** Bounds of `expires_after.seconds`: one hour and 30 days. */
const EXPIRY_SECONDS = { minimum: 3_600, maximum: 2_592_000 } as const;

/** When a file is deleted by itself. */
export const FileExpiration = Type.Object(
  {
    anchor: Type.Literal('created_at', { description: 'Creation of the file.' }),
    seconds: Type.Integer({ ...EXPIRY_SECONDS, description: 'Seconds after the anchor: one hour to 30 days.' }),
  },
  { description: 'Deletes the file by itself. Default: never.' },
);

export type FileExpiration = Static<typeof FileExpiration>;

/**
 * Form of `POST /v1/files`. Only describes it in OpenAPI: the form is validated while it is streamed. `x-limits` tells
 * clients which files are rejected before they send one; the console reads it.
 */
export const UploadForm = Type.Object({
  file: Type.String({
    format: 'binary',
    description: `A ${UPLOAD_EXTENSIONS['knowledge-base'].join(', ')} file of 1 to ${MAX_UPLOAD_BYTES} bytes. The content must match the extension.`,
    'x-limits': { max_bytes: MAX_UPLOAD_BYTES, extensions: UPLOAD_EXTENSIONS },
  }),
  purpose: Type.Enum([...REQUEST_PURPOSES], {
    description:
      '`batch` and `fine-tune` require .jsonl files. `assistants` and `user_data` are other names of `knowledge-base`. The field may precede or follow the file.',
  }),
  expires_after: Type.Optional(
    Type.Object(FileExpiration.properties, {
      description:
        'Deletes the file by itself, as the fields `expires_after[anchor]` and `expires_after[seconds]`. Default: never.',
    }),
  ),
});

/** The file object. */
export const File = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('file'),
    bytes: Type.Integer(),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    expires_at: Type.Optional(
      Type.Integer({ description: 'Unix seconds. Absent: the file is stored until it is deleted.' }),
    ),
    filename: Type.String({ description: 'File name as uploaded. May contain folders, such as `guides/pump.txt`.' }),
    sha256: Type.String({ description: 'SHA-256 of the content, hexadecimal.' }),
    purpose: Purpose,
    status: Type.Enum(['uploaded', 'processed', 'error'], {
      description:
        '`uploaded` in the response to the upload, and until the content has been checked; then `processed`, or `error`: the content cannot be read, or the first use of the file failed.',
    }),
    status_details: Type.Union([Type.String(), Type.Null()], { description: 'Reason of the status `error`.' }),
  },
  {
    examples: [
      {
        id: 'file-01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'file',
        bytes: 48213,
        created_at: 1763683200,
        filename: 'handbook.pdf',
        sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        purpose: 'knowledge-base',
        status: 'uploaded',
        status_details: null,
      },
    ],
  },
);

export type File = Static<typeof File>;

/** Path parameters of one file. */
export const FileParams = Type.Object({ file_id: Type.String() });

/** Query parameters of the list. */
export const FileListQuery = Type.Object({
  ...ListQuery.properties,
  purpose: Type.Optional(
    Type.Enum([...REQUEST_PURPOSES, 'archive'], { description: 'Returns only files with this purpose.' }),
  ),
  search: NameSearch,
  order: ListOrder,
});

export type FileListQuery = Static<typeof FileListQuery>;

/** Response of `DELETE /v1/files/{file_id}`. */
export const DeletedFile = deletedSchema('file');

export type DeletedFile = Static<typeof DeletedFile>;

titleSchemas({ FileExpiration, UploadForm, File, DeletedFile });
