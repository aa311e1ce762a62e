import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../../../src/kinds/index.ts';
import {
  backgrounds,
  type Color,
  colorStyle,
  foregrounds,
  kindColors,
  lines,
  marks,
} from '../../../src/output/html/colors.ts';
import { html } from '../../../src/output/html/html.ts';
import { htmlPage } from '../../../src/output/html/page.ts';

/** Computes a contrast as in the Web Content Accessibility Guidelines, from 1 to 21. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function pairs(some: Readonly<Record<string, Color>>, others: Readonly<Record<string, Color>>) {
  return Object.entries(some).flatMap(([name, color]) =>
    Object.entries(others).flatMap(([behind, paper]) =>
      ([0, 1] as const).map((scheme) => ({
        what: `${name} on ${behind}, ${scheme === 0 ? 'light' : 'dark'}`,
        ratio: contrast(color[scheme], paper[scheme]),
      })),
    ),
  );
}

describe('colors of the pages', () => {
  it('can be computed', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  });

  it('give text enough contrast (AA): 4.5 to 1, light and dark', () => {
    const texts = [
      ...pairs(foregrounds, backgrounds),
      ...pairs(Object.fromEntries(kindColors), backgrounds),
      ...pairs({ ink: foregrounds.ink }, marks),
    ];
    expect(texts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
  });

  it('give the lines between boxes enough contrast: 3 to 1', () => {
    expect(pairs({ wire: lines.wire }, backgrounds).filter(({ ratio }) => ratio < 3)).toEqual([]);
  });

  it('differ between kinds, and from the colors of actions', () => {
    const names = [...kinds.keys(), ...lookups.keys()].sort();
    expect([...kindColors.keys()]).toEqual(names);
    for (const scheme of [0, 1] as const) {
      const all = [...Object.values(foregrounds), ...kindColors.values()].map((color) => color[scheme]);
      expect(new Set(all).size).toBe(all.length);
    }
  });

  it('are defined once', () => {
    const page = htmlPage({ title: '', body: html`` });
    const elsewhere = page.replace(colorStyle(':root'), '');
    expect(elsewhere.match(/#[0-9a-f]{3,8}\b/gi)).toBeNull();
  });
});
