import { type Static, Type } from 'typebox';

/** A file of a base backup, as it is restored. */
const BackedUpFile = Type.Object({
  /** Relative to the database folder. */
  path: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  /** SHA-256 of the content, hexadecimal. */
  sha256: Type.String(),
});

/** Description of a complete base backup. It is stored last: a backup without one is unfinished. */
export const BackupManifest = Type.Object({
  format: Type.Literal(1),
  id: Type.String(),
  /** Version of Quire. */
  version: Type.String(),
  /** Unix milliseconds. */
  startedAt: Type.Integer(),
  /** When the copied files became consistent, Unix milliseconds by the clock of the database: the earliest restore. */
  consistentAt: Type.Integer(),
  timeline: Type.Integer(),
  /** First and last WAL segment that the backup needs. */
  firstSegment: Type.String(),
  lastSegment: Type.String(),
  folders: Type.Array(Type.String()),
  /** Objects of the backup, each with the contents of its files one after the other. */
  packs: Type.Array(Type.Object({ name: Type.String(), files: Type.Array(BackedUpFile) })),
  /** Distinct contents of uploaded files, listed in the object `blobs` of the backup. */
  blobs: Type.Object({ count: Type.Integer(), bytes: Type.Integer() }),
  /** Whether the key of stored credentials is in the backup; otherwise it is in `QUIRE_SECRETS_KEY`. */
  hasSecretsKey: Type.Boolean(),
});
export type BackupManifest = Static<typeof BackupManifest>;

/** Description of a target, written by the first backup. It is not encrypted. */
export const Descriptor = Type.Object({
  format: Type.Literal(1),
  /** System identifier of the PostgreSQL cluster that the target belongs to. */
  system: Type.String(),
  encryption: Type.Union([
    Type.Null(),
    /** Salt of the key, and a text encrypted with it, both base64. */
    Type.Object({ salt: Type.String(), check: Type.String() }),
  ]),
});
export type Descriptor = Static<typeof Descriptor>;
