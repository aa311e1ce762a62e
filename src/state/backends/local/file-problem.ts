import type { Files } from '../../../files/files.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';

/** Returns the content of a file; undefined if it does not exist. */
export async function readIfExists(files: Files, path: string): Promise<Buffer | undefined> {
  try {
    return await files.readFile(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw fileProblem(error, 'read', path);
  }
}

/** Runs work on the files of a state, and converts file system errors with `fileProblem`. */
export async function onFiles<T>(verb: Verb, location: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileProblem(error, verb, location);
  }
}

type Verb = 'read' | 'write' | 'lock';

/** Converts a file system error to a `UserError`. Returns other errors unchanged. */
function fileProblem(error: unknown, verb: Verb, path: string): unknown {
  const code = errorCode(error);
  if (error instanceof UserError || code === undefined) return error;
  const known = problems[`${verb} ${code}`] ?? problems[code];
  const [reason, hint] = known ?? [code, undefined];
  return new UserError(`cannot ${verb} the state ${path}: ${reason}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  });
}

const FREE_SPACE = 'Free some space and run the command again; everything written so far is kept.';
const GIVE_ACCESS = 'Give this user read and write access to the file and its folder.';
const OTHER_PATH = 'Set `state.path` of the workspace to another path.';
const problems: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ['the disk is full', FREE_SPACE],
  EDQUOT: ['the disk quota is exceeded', FREE_SPACE],
  EFBIG: ['the file size limit is exceeded', 'Raise the limit (ulimit -f) and run the command again.'],
  EACCES: ['permission denied', GIVE_ACCESS],
  EPERM: ['operation not permitted', GIVE_ACCESS],
  EROFS: ['the file system is read-only', 'Set `state.path` of the workspace to a writable path.'],
  ENOENT: ['the folder cannot be created', 'Set `state.path` of the workspace to a writable path.'],
  'read EFBIG': ['it is larger than 512 MiB', OTHER_PATH],
  ENXIO: ['the path is a pipe, a socket or a device', OTHER_PATH],
  EISDIR: ['the path is a folder', 'Move the folder away, or set `state.path` of the workspace to another path.'],
  ENOTDIR: ['part of the path is a file', OTHER_PATH],
  EEXIST: ['part of the path is a file', OTHER_PATH],
  ENAMETOOLONG: ['the path is too long', OTHER_PATH],
  ELOOP: ['its symbolic links form a cycle', 'Fix the link.'],
  EIO: ['the disk reported an error', 'Check the disk first; earlier data may still be readable.'],
};
