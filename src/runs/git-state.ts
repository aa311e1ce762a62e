import { execFile } from 'node:child_process';
import path from 'node:path';
import { backendOf, type StatePlace } from '../state/state-place.ts';
import type { RunContext } from './run-context.ts';

/** The commit of the manifests, with `-dirty` where files differ from it that Git tracks; undefined where they are in no repository. */
export async function commitOf(root: string): Promise<string | undefined> {
  const own = ['.', ':(exclude).voxform'];
  const [commit, same] = await Promise.all([
    git(root, ['rev-parse', '--verify', '--quiet', 'HEAD']),
    git(root, ['diff', '--quiet', 'HEAD', '--', ...own]),
  ]);
  return commit && `${commit.trim()}${same === undefined ? '-dirty' : ''}`;
}

/** Two CI jobs that keep a state in Git do not see each other's lock: said when it looks like that. */
export async function warnOfStateInGit(
  { env, log }: Pick<RunContext, 'env' | 'log'>,
  place: StatePlace,
): Promise<void> {
  if (env.CI === undefined || env.CI === '' || env.CI === 'false') return;
  const file = backendOf(place).fileOf(place);
  if (file !== undefined && (await isTracked(file))) {
    log.warn(
      `the state ${path.basename(file)} is in Git, and other runners do not see its lock: run one apply at a time, and push the state before the next one`,
    );
  }
}

async function isTracked(file: string): Promise<boolean> {
  return (await git(path.dirname(file), ['ls-files', '--error-unmatch', '--', file])) !== undefined;
}

/** What Git prints; undefined where it fails, or is not there. */
function git(folder: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('git', ['--no-optional-locks', '-C', folder, ...args], (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}
