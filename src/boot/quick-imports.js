/**
 * Side-effect module that speeds up the imports of this process and its children. Import it before large modules. Plain
 * JavaScript, because type stripping is part of the cost that it avoids.
 */
import { enableCompileCache, getCompileCacheDir, registerHooks } from 'node:module';

// Type stripping and compiling 500 modules dominates the start; the second start reads the cache of the first.
enableCompileCache();
// Inherited by the model host processes.
const cacheFolder = getCompileCacheDir();
if (cacheFolder !== undefined) process.env['NODE_COMPILE_CACHE'] ??= cacheFolder;

/**
 * Node parses the `package.json` of Drizzle (170 kB of exports) for each of its hundred modules to find the module
 * type. All are ES modules, so this hook skips the lookup.
 */
const DRIZZLE = '/node_modules/drizzle-orm/';

registerHooks({
  resolve(specifier, context, next) {
    const inDrizzle = specifier.startsWith('.') && context.parentURL?.includes(DRIZZLE) === true;
    if (!inDrizzle || context.conditions.includes('require')) return next(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
  },
});
