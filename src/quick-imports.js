/**
 * Imported for what it does, before anything that is large: makes the imports of this process and of those that it
 * starts quick. Plain JavaScript, because stripping types is one of the things that it saves.
 */
import { enableCompileCache, getCompileCacheDir, registerHooks } from 'node:module';

// Stripping types and compiling some 500 modules is most of a start; a second start reads the result of the first.
enableCompileCache();
// For the processes of models, which are started from here.
const cacheFolder = getCompileCacheDir();
if (cacheFolder !== undefined) process.env['NODE_COMPILE_CACHE'] ??= cacheFolder;

/**
 * Node asks `package.json` for the type of every module, and with it parses the list of exports: 170 kB in Drizzle, for
 * each of its hundred modules. They are all ES modules beside each other, so nothing need be asked.
 */
const DRIZZLE = '/node_modules/drizzle-orm/';

registerHooks({
  resolve(specifier, context, next) {
    const inDrizzle = specifier.startsWith('.') && context.parentURL?.includes(DRIZZLE) === true;
    if (!inDrizzle || context.conditions.includes('require')) return next(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
  },
});
