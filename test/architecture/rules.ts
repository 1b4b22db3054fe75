import { checkBudgets } from './budgets.ts';
import { checkDocstrings } from './docstrings.ts';
import { checkEnvironment } from './environment.ts';
import { checkFastify, checkOrder, checkPackage, checkSubfolderOrder } from './imports.ts';
import { checkCommentWidth, checkIdentifiers, checkNames, checkUnfinished } from './names.ts';
import { checkRoutes } from './routes.ts';
import type { Checker } from './source.ts';
import { checkAny, checkNonNull } from './types.ts';

/** Rules for single files, by the name of their test. */
export const RULES: Readonly<Record<string, Checker>> = {
  'a folder imports only what lies below it': checkOrder,
  'a subfolder imports only siblings that come before it': checkSubfolderOrder,
  'a package imports only its own files': checkPackage,
  'only http/, app.ts and routes.ts import Fastify': checkFastify,
  'functions, files and parameter lists keep their budgets': checkBudgets,
  'any needs a reason on the line above': checkAny,
  'no non-null assertion outside tests': checkNonNull,
  'only src/config/config.ts reads process.env': checkEnvironment,
  'names are kebab-case and say what is in it': checkNames,
  'variables and functions say what they are or do': checkIdentifiers,
  'no comment marks unfinished work': checkUnfinished,
  'comments are wrapped at 120 columns': checkCommentWidth,
  'every export has a docstring': checkDocstrings,
  'every route has a schema with summary, tags and response': checkRoutes,
};
