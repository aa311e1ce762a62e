import type { ProjectFile } from './project-files.ts';

export interface TokenUrl {
  readonly file: string;
  readonly line: number;
  readonly key: string;
  readonly part: string;
}

/** Yields the files, and adds the URLs with tokens in manifests to `found`. */
export function* collectingTokens(files: Iterable<ProjectFile>, found: TokenUrl[]): Generator<ProjectFile> {
  for (const file of files) {
    if (file.path.startsWith('manifests/') && file.path.endsWith('.yaml')) found.push(...tokensIn(file));
    yield file;
  }
}

function* tokensIn({ path: file, text }: ProjectFile): Generator<TokenUrl> {
  for (const [index, line] of text.split('\n').entries()) {
    const [, key, url] = /^[\s-]*["']?([\w-]+)["']?: ["']?(https?:\/\/[^\s"']+)/i.exec(line) ?? [];
    if (key === undefined || url === undefined) continue;
    const part = tokenPart(url);
    if (part !== undefined) yield { file, line: index + 1, key, part };
  }
}

const SECRET_NAME = /token|secret|passw|signature|credential|auth|(^|[_-])(api)?key$|^(code|sig|pwd)$/i;

/** Returns the name of the part of a URL that looks like a token; undefined if there is none. */
export function tokenPart(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { username, password, pathname, searchParams, hash } = new URL(text);
  if (username !== '' || password !== '') return 'user info';
  const isSecret = ([name, value]: [string, string]) => value !== '' && (SECRET_NAME.test(name) || isRandom(value));
  if ([...searchParams].some(isSecret)) return 'query';
  if (isRandom(hash.slice(1))) return 'fragment';
  return pathname.split('/').some(isRandom) ? 'path' : undefined;
}

/** True if the string contains a UUID, a long run of letters and digits, or a long run of letters in mixed case. */
function isRandom(text: string): boolean {
  if (/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/i.test(text)) return true;
  const runs = text.match(/[A-Za-z\d]{16,}/g) ?? [];
  return runs.some((run) => (/\d/.test(run) ? /[A-Za-z]/.test(run) : run.length >= 20 && hasMixedCase(run)));
}

/** True if the run has more capitals than a name in camel case. */
function hasMixedCase(run: string): boolean {
  const caseChanges = run.match(/[a-z][A-Z]|[A-Z]{2}/g) ?? [];
  return /[a-z]/.test(run) && caseChanges.length * 5 > run.length;
}
