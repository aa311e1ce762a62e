import type { ProcessEnvironment } from '../files/run-process.ts';
import { UserError } from '../problems/user-error.ts';
import type { HostClient } from './host-client.ts';

/** The interface to a CI job of a host. Its values are from variables of the host, not from text that users write. */
export interface HostJob {
  /** Name of the variable with the token. */
  readonly token: string;
  /** The permissions that the token needs, for messages. */
  readonly rights: string;
  /** The number of the pull or merge request of the job, if any. @throws UserError */
  request(env: ProcessEnvironment): number | undefined;
  /** The user name of comments written with the token; undefined if the API returns it for the token. */
  author(env: ProcessEnvironment): string | undefined;
  /** The commit that the job plans. */
  commit(env: ProcessEnvironment): string | undefined;
  /** The address of the job. */
  address(env: ProcessEnvironment): string | undefined;
  /**
   * Returns the plan that was made, shown and reviewed on the request that the job's commit came from.
   * @throws HostProblem, and UserError if there is none.
   */
  reviewedPlan(host: JobHost, wanted: WantedPlan): Promise<ReviewedPlan>;
}

export interface JobHost {
  readonly client: HostClient;
  readonly repository: string;
  readonly env: ProcessEnvironment;
}

export interface WantedPlan {
  /** The name of the job that made it, or the prefix of its artifact's name. */
  readonly name: string;
  /** Its path in the repository. */
  readonly path: string;
}

interface ReviewedPlan {
  readonly commit: string;
  /** Undefined if a later step downloads it, with `facts`. */
  readonly content: Buffer | undefined;
  /** For later steps of the job. */
  readonly facts: Readonly<Record<string, string | number>>;
}

const INSTEAD = 'Start the job that plans and applies in one run instead.';

export function noPlan(message: string): UserError {
  return new UserError(message, { hint: INSTEAD });
}

/** A variable of the job. @throws UserError if it is not set. */
export function variable(env: ProcessEnvironment, name: string): string {
  const value = env[name];
  if (value === undefined || value === '') throw new UserError(`${name} is not set`);
  return value;
}

/** True for the full id of a commit. */
export function isCommit(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{40,64}$/.test(text);
}
