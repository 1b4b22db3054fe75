import type { Messages } from '../en/index.ts';
import { audit } from './audit.ts';
import { batches } from './batches.ts';
import { cache } from './cache.ts';
import { commands } from './commands.ts';
import { common } from './common.ts';
import { configuration } from './configuration.ts';
import { files } from './files.ts';
import { guardrails } from './guardrails.ts';
import { join } from './join.ts';
import { keys } from './keys.ts';
import { kb } from './knowledge-bases.ts';
import { members } from './members.ts';
import { models } from './models.ts';
import { nav } from './nav.ts';
import { organizations } from './organizations.ts';
import { overview } from './overview.ts';
import { playground } from './playground.ts';
import { retrieval } from './retrieval.ts';
import { settings } from './settings.ts';
import { signIn } from './sign-in.ts';
import { sources } from './sources.ts';
import { start } from './start.ts';
import { statuses } from './statuses.ts';
import { usage } from './usage.ts';

/** German texts of the console. */
export const de: Messages = {
  product: 'Quire',
  nav,
  common,
  commands,
  signIn,
  join,
  start,
  keys,
  members,
  kb,
  retrieval,
  sources,
  files,
  batches,
  statuses,
  guardrails,
  models,
  usage,
  overview,
  cache,
  configuration,
  organizations,
  audit,
  settings,
  playground,
};
