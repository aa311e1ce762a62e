import type { Files } from '../../../files/files.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';

/** The content; undefined if there is no such file. */
export async function readIfThere(files: Files, path: string): Promise<Buffer | undefined> {
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

/** A `UserError` for a file system error; other errors are returned unchanged. */
function fileProblem(error: unknown, verb: Verb, path: string): unknown {
  const code = errorCode(error);
  if (error instanceof UserError || code === undefined) return error;
  const known = problems[code];
  const [reason, hint] = known ?? [code, undefined];
  return new UserError(`cannot ${verb} the state ${path}: ${reason}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  });
}

const full = 'Free some space and run the command again; everything written so far is kept.';
const rights = 'Give this user read and write access to the file and its folder.';
const problems: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ['the disk is full', full],
  EDQUOT: ['the disk quota is exceeded', full],
  EFBIG: ['the file size limit is exceeded', 'Raise the limit (ulimit -f) and run the command again.'],
  EACCES: ['permission denied', rights],
  EPERM: ['operation not permitted', rights],
  EROFS: ['the file system is read-only', 'Set `state.path` of the workspace to a writable path.'],
  ENOENT: ['the folder cannot be created', 'Set `state.path` of the workspace to a writable path.'],
  EISDIR: ['it is a folder', 'Move the folder away, or set `state.path` of the workspace to another path.'],
  ENOTDIR: ['part of the path is a file', 'Set `state.path` of the workspace to another path.'],
  EEXIST: ['part of the path is a file', 'Set `state.path` of the workspace to another path.'],
  ELOOP: ['its symbolic links form a cycle', 'Fix the link.'],
  EIO: ['the disk reported an error', 'Check the disk first; earlier data may still be readable.'],
};
