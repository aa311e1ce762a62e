import { createHash } from 'node:crypto';

/** The path of a file of the page; another one for another content, so that it may be kept. */
export function assetPath(file: string, content: string): string {
  return `/assets/${createHash('sha256').update(content).digest('hex').slice(0, 12)}/${file}`;
}
