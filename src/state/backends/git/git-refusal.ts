import { redirectHint, shortError } from '../../../git/run-git.ts';
import { UserError } from '../../../problems/user-error.ts';
import { WriteConflict } from '../object-store/object-store.ts';

/* Git reports failures only as text. `LC_ALL=C` makes it use English. */

export interface RemoteContext {
  /** The remote for messages. */
  readonly remote: string;
  readonly ref: string;
  /** True until the first response of the remote. Until then, an unknown host is a mistake in the settings. */
  readonly isFirst: boolean;
  redact(text: string): string;
}

/** Another run wrote first. */
const CONFLICT =
  /stale info|fetch first|non-fast-forward|is at [0-9a-f]+ but expected|reference already exists|incorrect old value/;

/** The server refuses this push permanently. */
const DECLINED =
  /declined|hidden ref|protected|prohibited|not allowed|funny refname|denied|denying|rule violations|shallow update/;

const CREDENTIALS =
  /authentication failed|could not read (username|password)|permission denied|permission to .* denied|access denied|not allowed to (push|upload|download)|returned error: 40[13]|host key verification failed/i;
const MISSING = /does not appear to be a git repository|repository .*not found|returned error: 404/i;
const UNUSABLE =
  /transport '.*' not allowed|returned error: 4(?!08|25|29)\d\d|unable to find remote helper|dubious ownership|certificate|hash algorithm|does not support/i;
const UNKNOWN_HOST = /could not resolve host|name or service not known|nodename nor servname/i;

/** Returns the error for a remote that cannot be read or written: a `UserError` for a permanent failure. */
export function refusalOf(errorOutput: string, { remote, isFirst, redact }: RemoteContext): Error {
  const message = redact(shortError(errorOutput)) || 'git failed without a message';
  if (CREDENTIALS.test(errorOutput)) {
    return new UserError(`the remote ${remote} refused access: ${message}`, {
      hint: 'voxform reads and writes the state with the git credentials of this machine. Give them push access, e.g. permissions: contents: write in GitHub Actions.',
    });
  }
  if (MISSING.test(errorOutput)) {
    return new UserError(`there is no repository at the remote ${remote}: ${message}`, {
      hint: 'Correct state.remote, or give git credentials with access to the repository.',
    });
  }
  const isUnknownHost = isFirst && UNKNOWN_HOST.test(errorOutput);
  const redirected = redirectHint(errorOutput);
  if (UNUSABLE.test(errorOutput) || isUnknownHost || redirected !== undefined) {
    const hint = isUnknownHost ? 'Correct the host in the address of the remote, or in state.remote.' : redirected;
    return new UserError(`cannot use the remote ${remote}: ${message}`, hint === undefined ? {} : { hint });
  }
  return new Error(message);
}

/** Returns the error for a ref that cannot be fetched, because the remote lacks objects or has damaged ones. */
export function damageOf(errorOutput: string, { remote, ref, redact }: RemoteContext): UserError {
  return new UserError(`the repository at the remote ${remote} is damaged: ${redact(shortError(errorOutput))}`, {
    hint: `Repair the repository (git fsck), or push ${ref} again from a clone that contains this ref.`,
  });
}

/** Returns the error for a failed push, from the output of `git push --porcelain`. */
export function pushRefusalOf(printed: string, errorOutput: string, context: RemoteContext): Error {
  const reason = /^!\t\S+\t\[[^\]]*\](?: \((.*)\))?/m.exec(printed)?.[1];
  if (reason === undefined) return refusalOf(errorOutput, context);
  if (CONFLICT.test(reason)) return new WriteConflict();
  const remoteLines = errorOutput.split('\n').filter((line) => line.startsWith('remote:'));
  const { remote, ref, redact } = context;
  const message = redact([reason, shortError(remoteLines.join('\n'))].filter((each) => each !== '').join(': '));
  if (!DECLINED.test(reason)) return new Error(message);
  return new UserError(`the remote ${remote} rejected a push to ${ref}: ${message}`, {
    hint: ref.startsWith('refs/heads/')
      ? 'Allow these credentials to push to this branch, or set state.ref to another branch.'
      : 'Allow these credentials to push to this ref, or keep the state in a branch: state.ref: refs/heads/voxform/{workspace}',
  });
}
