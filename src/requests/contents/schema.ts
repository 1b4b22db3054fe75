import { type Static, Type } from 'typebox';
import { deletedSchema } from '../../db/page.ts';
import { MUST } from '../../http/validation.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { DETECTORS } from './redact.ts';

/** Maximum retention in days. The retention of the request log may be shorter. */
const MAX_RETENTION_DAYS = 365;
const MAX_PATTERNS = 20;

const fields = {
  enabled: Type.Boolean({ description: 'Whether prompts and answers are recorded. Default: false.' }),
  retention_days: Type.Integer({
    minimum: 1,
    maximum: MAX_RETENTION_DAYS,
    description: 'Days after which contents are deleted, at the latest with their request. Default: 7.',
  }),
  detectors: Type.Array(Type.Enum([...DETECTORS]), {
    uniqueItems: true,
    description:
      'Sensitive data that is replaced before contents are stored: email addresses, phone numbers, payment card numbers (Luhn checksum), IBANs (checksum) and API keys. Default: all.',
  }),
  patterns: Type.Array(
    Type.String({ pattern: '^[^\\u0000]{1,256}$', [MUST]: 'have 1 to 256 characters, none of which is NUL' }),
    {
      maxItems: MAX_PATTERNS,
      description: 'JavaScript regular expressions with the flag `u`. Matches are replaced by `[redacted]`.',
    },
  ),
};

/** Recording settings of an organization. */
export const RequestRecording = Type.Object(
  {
    object: Type.Literal('request.recording'),
    ...fields,
    has_contents: Type.Boolean({ description: 'Whether any contents are stored.' }),
  },
  {
    examples: [
      {
        object: 'request.recording',
        enabled: true,
        retention_days: 7,
        detectors: [...DETECTORS],
        patterns: ['ACME-\\d{6}'],
        has_contents: true,
      },
    ],
  },
);

export type RequestRecording = Static<typeof RequestRecording>;

/** Body of `PATCH /v1/request-recording`. */
export const UpdateRequestRecording = Type.Partial(Type.Object(fields), {
  description: 'Absent fields keep their values.',
  examples: [{ enabled: true, retention_days: 7 }],
});

export type UpdateRequestRecording = Static<typeof UpdateRequestRecording>;

/** Recorded contents of a request. */
export const RequestContents = Type.Object({
  id: Type.String({ description: 'Id of the request.' }),
  object: Type.Literal('request.contents'),
  expires_at: Type.Integer({ description: 'Expiry in Unix milliseconds.' }),
  prompt: Type.Unknown({ description: 'Redacted body of the request. Null if the body was not recorded.' }),
  answer: Type.Array(
    Type.Object({
      type: Type.Enum(['text', 'reasoning', 'tool_call']),
      call: Type.Integer({ description: 'Index of the model call that generated the item, starting at 0.' }),
      choice: Type.Integer(),
      name: Type.Optional(Type.String({ description: 'Name of the tool of a tool call.' })),
      text: Type.String({ description: 'Generated text, or the arguments of a tool call as JSON.' }),
    }),
    { description: 'Redacted output of the model. Empty if the request failed before the model generated output.' },
  ),
  is_truncated: Type.Boolean({
    description: 'Whether texts are truncated. Prompts and answers have at most 65,536 characters each.',
  }),
});

export type RequestContents = Static<typeof RequestContents>;

/** Response to a deletion of contents. `id` is the request, or the organization if all contents were deleted. */
export const DeletedContents = deletedSchema('request.contents');

titleSchemas({ RequestRecording, UpdateRequestRecording, RequestContents, DeletedContents });
