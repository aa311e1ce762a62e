import { braceExpand, Minimatch, unescape as unescapeGlob } from 'minimatch';
import { z } from 'zod';

/** The maximum number of alternatives of a glob, such as two of `*.{yaml,yml}`. */
const MAX_ALTERNATIVES = 200;
const MAX_LENGTH = 500;

/**
 * Returns a function that tells whether a text matches any of these globs of `*`, `**`, `?`, `[abc]`, `{a,b}`, `\` and a leading `!`.
 * Takes bounded time, because the globs of a project are not trusted: minimatch matches without regular expressions.
 * @param dot true if wildcards match a leading dot.
 */
export function globMatcher(
  globs: readonly string[],
  { dot = false }: { readonly dot?: boolean } = {},
): (text: string) => boolean {
  const options = { dot, noext: true, nocomment: true, platform: 'linux', braceExpandMax: MAX_ALTERNATIVES } as const;
  const matchers = globs.map((glob) => new Minimatch(glob, options));
  return (text) => matchers.some((matcher) => matcher.match(text));
}

/** Returns the glob that matches only this path. */
export function escapeGlob(path: string): string {
  return path.replace(/[[\]{}()*?!+@\\]/g, '\\$&');
}

/** Removes a leading `./`. */
export function withoutDotSlash(glob: string): string {
  return glob.replace(/^(\.\/+)+/, '');
}

/** Splits a glob into the path before its first wildcard and the rest, which is empty without a wildcard. */
export function splitGlob(glob: string): { readonly base: string; readonly rest: string } {
  const parts = glob.split('/');
  const first = parts.findIndex((part) => /(?<!\\)[*?[{]/.test(part));
  const count = first === -1 ? parts.length : first;
  return { base: unescapeGlob(parts.slice(0, count).join('/')), rest: parts.slice(count).join('/') };
}

/** Returns the schema of a glob in a settings file. */
export function globSetting() {
  return z
    .string()
    .min(1)
    .refine((text) => globProblem(text) === undefined, { error: ({ input }) => globProblem(String(input)) });
}

/** Returns the reason why a glob cannot be used, if any. */
export function globProblem(glob: string): string | undefined {
  if (glob.length > MAX_LENGTH) return `expected a glob of at most ${MAX_LENGTH} characters`;
  if (/(?<!\\)\(|(?<!\\)[\])}][+?]/.test(glob))
    return 'expected a glob of *, **, ?, [abc] and {a,b}; a \\ before other brackets';
  const alternatives = braceExpand(glob, { braceExpandMax: MAX_ALTERNATIVES + 1 });
  return alternatives.length > MAX_ALTERNATIVES
    ? `expected a glob with at most ${MAX_ALTERNATIVES} alternatives`
    : undefined;
}
