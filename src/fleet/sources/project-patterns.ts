import picomatch from 'picomatch';

/** Whether a folder, with slashes and `.` for the root, is one that globs name; one with `!` before it takes folders away again. */
export function projectMatcher(patterns: readonly string[]): (folder: string) => boolean {
  const named = patterns.filter((pattern) => !pattern.startsWith('!')).map(matcher);
  const excluded = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .flatMap((pattern) => [matcher(pattern.slice(1)), matcher(`${pattern.slice(1)}/**`)]);
  return (folder) => named.some((matches) => matches(folder)) && !excluded.some((matches) => matches(folder));
}

/** The globs that name no folder. */
export function unmatchedPatterns(patterns: readonly string[], folders: readonly string[]): string[] {
  return patterns.filter((pattern) => !pattern.startsWith('!') && !folders.some(matcher(pattern)));
}

function matcher(pattern: string): (folder: string) => boolean {
  if (pattern === '.') return (folder) => folder === '.';
  // A name may have a newline.
  const matches = picomatch(pattern, { flags: 's' });
  return (folder) => (folder === '.' ? pattern === '**' : matches(folder));
}
