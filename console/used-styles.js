import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Styles without a component. */
const SHARED = ['default-css-variables', 'baseline', 'global'];
/** The module with the class names of a component of Mantine, such as `Tabs.module.mjs`. */
const CLASS_NAMES = /@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/;

/**
 * Vite plugin: the styles of a component of Mantine load with the component, in the place of all styles at once. Rules
 * of the console win in each order, because the rules of Mantine are in a cascade layer.
 */
export const usedStyles = () => ({
  name: 'used-styles',
  apply: 'build',
  enforce: 'pre',
  transform(code, id) {
    const component = CLASS_NAMES.exec(id)?.[1];
    if (component !== undefined)
      return { code: `import '@mantine/core/styles/${component}.layer.css';\n${code}`, map: null };
    if (!id.endsWith('@mantine/core/styles.layer.css')) return;
    return SHARED.map((name) => readFileSync(join(dirname(id), `styles/${name}.layer.css`), 'utf8')).join('\n');
  },
});
