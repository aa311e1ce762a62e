import { kinds, lookups } from '../../kinds/index.ts';

/** A color in light mode and in dark mode. */
export type Color = readonly [light: string, dark: string];

export const backgrounds = {
  paper: ['#ffffff', '#0d1117'],
  box: ['#f6f8fa', '#151b23'],
} as const satisfies Readonly<Record<string, Color>>;

/** The text colors: the default, a faint color, and a color for each kind of action. */
export const foregrounds = {
  ink: ['#1f2328', '#e6edf3'],
  faint: ['#59636e', '#9198a1'],
  good: ['#1a7f37', '#3fb950'],
  change: ['#8a5a00', '#d29922'],
  bad: ['#cf222e', '#f85149'],
  ask: ['#0860ca', '#4493f8'],
  odd: ['#8250df', '#ab7df8'],
} as const satisfies Readonly<Record<string, Color>>;

/** The background colors of added and removed text. */
export const marks = {
  came: ['#dafbe1', '#12261e'],
  'came-word': ['#aceebb', '#1f572c'],
  went: ['#ffebe9', '#25171c'],
  'went-word': ['#ffc9c4', '#7a2a2b'],
} as const satisfies Readonly<Record<string, Color>>;

/** The colors of separators and of connecting lines. */
export const lines = {
  line: ['#d1d9e0', '#3d444d'],
  wire: ['#818b98', '#6e7681'],
} as const satisfies Readonly<Record<string, Color>>;

/** The colors of kinds, which differ from the colors of actions. */
const kindPalette: readonly Color[] = [
  ['#4338ca', '#a5b4fc'],
  ['#4d7c0f', '#a3e635'],
  ['#0f766e', '#2dd4bf'],
  ['#9a3412', '#fdba74'],
  ['#be185d', '#f9a8d4'],
  ['#0369a1', '#7dd3fc'],
];

/** The color of each kind, which is the same on every page. */
export const kindColors: ReadonlyMap<string, Color> = new Map(
  [...kinds.keys(), ...lookups.keys()]
    .sort()
    .flatMap((kind, index) => kindPalette.slice(index, index + 1).map((color) => [kind, color] as const)),
);

export function kindClass(kind: string): string {
  return kindColors.has(kind) ? `kind-${kind}` : '';
}

/** Returns all colors as CSS variables for light and dark mode, and a class for each text color. `--of-kind` is the color of a kind. */
export function colorStyle(root: string): string {
  const all = Object.entries({ ...backgrounds, ...foregrounds, ...marks, ...lines });
  const kindOf = (scheme: 0 | 1) =>
    [...kindColors].map(([kind, color]) => `.kind-${kind}{--of-kind:${color[scheme]}}`).join('');
  const style = (scheme: 0 | 1) =>
    `${root}{${all.map(([name, color]) => `--${name}:${color[scheme]}`).join(';')}}${kindOf(scheme)}`;
  const tones = Object.keys(foregrounds).map((name) => `.${name}{color:var(--${name})}`);
  return `${style(0)}${tones.join('')}\n@media (prefers-color-scheme:dark){${style(1)}}`;
}
