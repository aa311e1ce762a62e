import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pageCss } from '../../output/html/page.ts';

const siteCss = readFileSync(new URL('./site.css', import.meta.url), 'utf8');

/** The files that every page loads, by name. */
export const assets = {
  'style.css': { content: `${pageCss}\n${siteCss}`, type: 'text/css' },
  'page.js': {
    content: readFileSync(new URL('./page.js', import.meta.url), 'utf8'),
    type: 'text/javascript',
  },
} as const;

/** Returns a path that changes with the contents, so that browsers may cache the file. */
export function assetPath(file: keyof typeof assets): string {
  const digest = createHash('sha256').update(assets[file].content).digest('hex').slice(0, 12);
  return `/assets/${digest}/${file}`;
}
