import { type CSSVariablesResolver, createTheme, rem } from '@mantine/core';

/** Inter is served by Quire: the console requests nothing from other hosts. */
const FONTS = '"Inter Variable", Inter, "Segoe UI", system-ui, "Noto Sans", sans-serif';
/** Height of buttons and fields. */
const CONTROL_HEIGHT = rem(30);
/** Sizes that have this height: a control with another one is compact by intent. */
const CONTROL_SIZES: readonly unknown[] = [undefined, 'xs', 'sm', 'md'];

const controlHeight = (size: unknown): string | undefined =>
  CONTROL_SIZES.includes(size) ? CONTROL_HEIGHT : undefined;

/** Look of the console: sizes, colours and defaults of Mantine's parts. The colours of states are in `console.css`. */
export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 6 },
  colors: {
    accent: [
      '#eaf0ff',
      '#d5deff',
      '#b3c3ff',
      '#96abff',
      '#7c96ff',
      '#5476f2',
      '#3056e8',
      '#2547cc',
      '#1d3aab',
      '#182f8a',
    ],
    // The neutral tokens of the dark theme: text, borders, hovered and other surfaces.
    dark: [
      '#eceef2',
      '#c4c9d3',
      '#9ca3b0',
      '#737a87',
      '#343842',
      '#24272e',
      '#1c1f25',
      '#131519',
      '#181b20',
      '#0d0e11',
    ],
  },
  fontFamily: FONTS,
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, "Liberation Mono", monospace',
  fontSizes: { xs: rem(12), sm: rem(13), md: rem(13), lg: rem(14), xl: rem(18) },
  lineHeights: { xs: '1.5', sm: '1.54', md: '1.54', lg: '1.64', xl: '1.44' },
  headings: {
    fontFamily: FONTS,
    fontWeight: '600',
    sizes: {
      h1: { fontSize: rem(18), lineHeight: '1.44' },
      h2: { fontSize: rem(18), lineHeight: '1.44' },
      h3: { fontSize: rem(15), lineHeight: '1.5' },
      h4: { fontSize: rem(13), lineHeight: '1.54' },
      h5: { fontSize: rem(13), lineHeight: '1.54' },
      h6: { fontSize: rem(13), lineHeight: '1.54' },
    },
  },
  radius: { xs: rem(4), sm: rem(5), md: rem(7), lg: rem(10), xl: rem(14) },
  defaultRadius: 'md',
  spacing: { xs: rem(8), sm: rem(12), md: rem(16), lg: rem(20), xl: rem(24) },
  breakpoints: { xs: '30em', sm: '40em', md: '64em', lg: '80em', xl: '90em' },
  shadows: { xs: 'none', sm: 'none', md: 'var(--shadow)', lg: 'var(--shadow)', xl: 'var(--shadow)' },
  respectReducedMotion: true,
  autoContrast: true,
  luminanceThreshold: 0.32,
  components: {
    Button: {
      vars: (_: unknown, { size }: { size?: unknown }) => ({
        root: {
          '--button-height': controlHeight(size),
          '--button-padding-x': controlHeight(size) && rem(10),
          '--button-fz': controlHeight(size) && rem(13),
        },
      }),
    },
    Input: {
      vars: (_: unknown, { size }: { size?: unknown }) => ({
        wrapper: { '--input-height': controlHeight(size), '--input-fz': controlHeight(size) && rem(13) },
      }),
    },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray', size: 30 } },
    Paper: { defaultProps: { radius: 'lg' } },
    Card: { defaultProps: { radius: 'lg' } },
    // The placeholder is no menu item, which `role="menu"` does not allow.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { openDelay: 300 } },
    Alert: { defaultProps: { radius: 'lg' } },
  },
});

/** Sets Mantine's own variables from the tokens of `console.css`. */
export const resolveVariables: CSSVariablesResolver = () => {
  const tokens = {
    '--mantine-color-body': 'var(--surface)',
    '--mantine-color-text': 'var(--text)',
    '--mantine-color-bright': 'var(--text)',
    '--mantine-color-dimmed': 'var(--muted)',
    '--mantine-color-placeholder': 'var(--muted)',
    '--mantine-color-anchor': 'var(--accent)',
    '--mantine-color-default': 'var(--surface)',
    '--mantine-color-default-hover': 'var(--hover)',
    '--mantine-color-default-color': 'var(--text)',
    '--mantine-color-default-border': 'var(--border)',
    '--mantine-color-error': 'var(--bad)',
    '--mantine-color-red-text': 'var(--bad)',
    '--mantine-color-gray-light-color': 'var(--muted)',
    '--mantine-color-red-light': 'color-mix(in srgb, var(--bad) 12%, var(--surface))',
    '--mantine-color-yellow-light': 'color-mix(in srgb, var(--warn) 12%, var(--surface))',
  };
  return { variables: {}, light: tokens, dark: tokens };
};
