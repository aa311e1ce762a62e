import type { ProcessEnvironment } from '../files/run-process.ts';
import { UserError } from '../problems/user-error.ts';
import type { HostClient } from './host-client.ts';

/** What voxform needs in a CI job of a host. The variables are those that the host sets, not texts of people. */
export interface HostJob {
  /** Name of the variable with the token. */
  readonly token: string;
  /** The permissions that the token needs, for messages. */
  readonly rights: string;
  /** The number of the request that the job runs for; undefined without one. @throws UserError */
  request(env: ProcessEnvironment): number | undefined;
  /** The user name that comments have which are written with the token; undefined if the token can ask for it. */
  author(env: ProcessEnvironment): string | undefined;
  /** The commit that the job plans. */
  commit(env: ProcessEnvironment): string | undefined;
  /** The address of the job. */
  address(env: ProcessEnvironment): string | undefined;
  /**
   * The plan that was made, shown and reviewed on the request which the commit of the job came from.
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
  /** The job that made it, or the first part of the name of its artifact. */
  readonly name: string;
  /** Its path in the repository. */
  readonly path: string;
}

interface ReviewedPlan {
  readonly commit: string;
  /** Undefined if the host hands it out otherwise, by `facts`. */
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
