import { randomFillSync } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';

/** Prefix of each resource's ids, including the separator. */
export const ID_PREFIXES = {
  organization: 'org_',
  apiKey: 'key_',
  chatCompletion: 'chatcmpl-',
  textCompletion: 'cmpl-',
  toolCall: 'call_',
  moderation: 'modr-',
  file: 'file-',
  batch: 'batch_',
  batchLine: 'batch_req_',
  knowledgeBase: 'kb_',
  vectorStore: 'vs_',
  fileBatch: 'vsfb_',
  dataSource: 'ds_',
  document: 'doc_',
  chunk: 'chunk_',
  ingestionJob: 'job_',
  questionSet: 'qs_',
  evaluation: 'eval_',
  evaluationResult: 'evr_',
  guardrailPolicy: 'gp_',
  guardrailBlock: 'gb_',
  response: 'resp_',
  conversation: 'conv_',
  chat: 'chat_',
  chatAttachment: 'att_',
  chatPreset: 'preset_',
  prompt: 'pmpt_',
  promptVersion: 'pmptv_',
  message: 'msg_',
  reasoning: 'rs_',
  fileSearchCall: 'fs_',
  functionCall: 'fc_',
  functionCallOutput: 'fco_',
  compaction: 'cmp_',
  mcpServer: 'mcps_',
  upstream: 'ups_',
  mcpCall: 'mcp_',
  mcpList: 'mcpl_',
  mcpApprovalRequest: 'mcpr_',
  mcpApprovalResponse: 'mcpa_',
  request: 'req_',
  usage: 'use_',
  process: 'proc_',
  creditTransaction: 'ctx_',
  auditEvent: 'audit_',
  user: 'user_',
  invitation: 'inv_',
  session: 'sess_',
  identity: 'ident_',
  alert: 'alert_',
  alertChannel: 'channel_',
  alertDelivery: 'delivery_',
  budget: 'budget_',
} as const;

/** A kind of resource with ids. */
export type IdKind = keyof typeof ID_PREFIXES;

/** Size of the pool of random bytes. One call per ULID character would cost 20 times more. */
const POOL_BYTES = 4096;
const pool = Buffer.alloc(POOL_BYTES);
let poolAt = POOL_BYTES;

/** A random number in [0, 1) in steps of 1/256; ULIDs use five bits. */
function random(): number {
  if (poolAt === POOL_BYTES) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const byte = pool[poolAt] ?? 0;
  poolAt += 1;
  return byte / 256;
}

const nextUlid = monotonicFactory(random);

/** A lower-case ULID: 26 characters, timestamp in milliseconds first. */
const ULID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** Returns a new id such as `chatcmpl-01k...`. Ids of one kind sort by creation within a process. */
export function newId(kind: IdKind): string {
  return ID_PREFIXES[kind] + nextUlid().toLowerCase();
}

/** Whether `text` is a well-formed id of that kind. Does not check existence. */
export function isId(kind: IdKind, text: string): boolean {
  const prefix = ID_PREFIXES[kind];
  return text.startsWith(prefix) && ULID.test(text.slice(prefix.length));
}

/** Characters of the time at the beginning of a ULID. */
const TIME_CHARACTERS = 10;

/** The time in a well-formed id, in milliseconds since 1970. */
export const idTime = (kind: IdKind, id: string): number =>
  decodeTime(id.slice(ID_PREFIXES[kind].length).toUpperCase());

/** The least id of a resource that is created at `time` (milliseconds since 1970) or later. */
export const minIdAt = (kind: IdKind, time: number): string =>
  ID_PREFIXES[kind] + encodeTime(Math.max(0, time), TIME_CHARACTERS).toLowerCase();
