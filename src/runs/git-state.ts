import { execFile } from 'node:child_process';
import path from 'node:path';
import { backendOf, type StatePlace } from '../state/state-place.ts';
import type { RunContext } from './run-context.ts';

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

function isTracked(file: string): Promise<boolean> {
  const folder = path.dirname(file);
  return new Promise((resolve) => {
    execFile('git', ['-C', folder, 'ls-files', '--error-unmatch', '--', file], (error) =>
      resolve(error === null),
    );
  });
}
