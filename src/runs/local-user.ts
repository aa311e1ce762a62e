import { userInfo } from 'node:os';
import path from 'node:path';
import { userFolder } from '../files/user-folder.ts';
import { createMarks, type Marks } from '../state/marks.ts';
import type { RunContext } from './run-context.ts';

/** What this machine remembers of the states of a platform that it wrote; undefined where the environment names no place for it. */
export function marksOf({ env, log }: RunContext, baseUrl: string): Marks | undefined {
  const folder = userFolder('state', env);
  if (folder === undefined) return undefined;
  return createMarks({
    folder: path.join(folder, 'states'),
    baseUrl,
    debug: (message) => log.debug(message),
  });
}

/** Who runs the command, for the lock. */
export function userName(env: RunContext['env']): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return env.USER ?? 'unknown';
  }
}
