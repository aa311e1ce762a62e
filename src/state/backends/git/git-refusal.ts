import { redirectHint, shortError } from '../../../git/run-git.ts';
import { UserError } from '../../../problems/user-error.ts';
import { WriteConflict } from '../object-store/object-store.ts';

/* Git reports failures only as text. `LC_ALL=C` keeps it in English. */

export interface RemoteContext {
  /** The remote for messages. */
  readonly remote: string;
  readonly ref: string;
  /** True until the remote has answered once: until then, a failure is a mistake in the settings. */
  readonly isFirst: boolean;
  /** Redacts secrets. */
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

/** The error for a remote that cannot be read or written; a `UserError` if a retry is useless. */
export function refusalOf(complaint: string, { remote, isFirst, redact }: RemoteContext): Error {
  const words = redact(shortError(complaint)) || 'git failed without a message';
  if (CREDENTIALS.test(complaint)) {
    return new UserError(`the remote ${remote} refused access: ${words}`, {
      hint: 'The state is read and written with the credentials that git has here. Allow them to push, e.g. permissions: contents: write in GitHub Actions.',
    });
  }
  if (MISSING.test(complaint)) {
    return new UserError(`there is no repository at the remote ${remote}: ${words}`, {
      hint: 'Correct state.remote, or give git credentials that may see the repository.',
    });
  }
  const isUnknownHost = isFirst && UNKNOWN_HOST.test(complaint);
  const redirected = redirectHint(complaint);
  if (UNUSABLE.test(complaint) || isUnknownHost || redirected !== undefined) {
    const hint = isUnknownHost ? 'Correct the host in the address of the remote, or in state.remote.' : redirected;
    return new UserError(`cannot use the remote ${remote}: ${words}`, hint === undefined ? {} : { hint });
  }
  return new Error(words);
}

/** The remote lacks objects of the ref, or has damaged ones: it cannot be fetched. */
export function damageOf(complaint: string, { remote, ref, redact }: RemoteContext): UserError {
  return new UserError(`the repository at the remote ${remote} is damaged: ${redact(shortError(complaint))}`, {
    hint: `Repair it there (git fsck), or push ${ref} again from a clone that has it.`,
  });
}

/** The error for a push, from the output of `git push --porcelain`. */
export function pushRefusalOf(printed: string, complaint: string, context: RemoteContext): Error {
  const reason = /^!\t\S+\t\[[^\]]*\](?: \((.*)\))?/m.exec(printed)?.[1];
  if (reason === undefined) return refusalOf(complaint, context);
  if (CONFLICT.test(reason)) return new WriteConflict();
  const remoteLines = complaint.split('\n').filter((line) => line.startsWith('remote:'));
  const { remote, ref, redact } = context;
  const words = redact([reason, shortError(remoteLines.join('\n'))].filter((each) => each !== '').join(': '));
  if (!DECLINED.test(reason)) return new Error(words);
  return new UserError(`the remote ${remote} does not take ${ref}: ${words}`, {
    hint: ref.startsWith('refs/heads/')
      ? 'Allow these credentials to push to that branch, or set state.ref to another one.'
      : 'Allow these credentials to push to it, or keep the state in a branch: state.ref: refs/heads/voxform/{workspace}',
  });
}
