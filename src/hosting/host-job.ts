import type { ProcessEnvironment } from '../files/run-process.ts';
import { UserError } from '../problems/user-error.ts';
import type { HostClient } from './host-client.ts';

/** The interface to a CI job of a host. Its values come from variables that the host sets, not from text that users write. */
export interface HostJob {
  /** The name of the environment variable that contains the token. */
  readonly token: string;
  /** The permissions that the token needs, for messages. */
  readonly rights: string;
  /** Returns the number of the job's pull or merge request, if any. @throws UserError if the job's event cannot be read. */
  request(env: ProcessEnvironment): number | undefined;
  /** Returns the user who writes comments with the token; undefined if the API returns the user for the token. */
  author(env: ProcessEnvironment): string | undefined;
  /** Returns the commit that the job plans. */
  commit(env: ProcessEnvironment): string | undefined;
  /** Returns the address of the job. */
  address(env: ProcessEnvironment): string | undefined;
  /**
   * Returns the plan that was reviewed in the merged pull or merge request of the job's commit.
   * @throws HostProblem; UserError if there is no reviewed plan.
   */
  reviewedPlan(host: JobHost, wanted: WantedPlan): Promise<ReviewedPlan>;
}

export interface JobHost {
  readonly client: HostClient;
  readonly repository: string;
  readonly env: ProcessEnvironment;
}

export interface WantedPlan {
  /** The name of the job that made the plan (GitLab), or the prefix of the artifact's name (GitHub). */
  readonly name: string;
  /** The path of the plan in the repository. */
  readonly path: string;
}

interface ReviewedPlan {
  readonly commit: string;
  /** The plan; undefined if a later step of the job downloads it, using `facts`. */
  readonly content: Buffer | undefined;
  /** Values for later steps of the job. */
  readonly facts: Readonly<Record<string, string | number>>;
}

const PLAN_AND_APPLY_HINT = 'Start the job that plans and applies in one run instead.';

export function noPlanError(message: string): UserError {
  return new UserError(message, { hint: PLAN_AND_APPLY_HINT });
}

/** Returns a variable of the job. @throws UserError if the variable is not set. */
export function variable(env: ProcessEnvironment, name: string): string {
  const value = env[name];
  if (value === undefined || value === '') throw new UserError(`${name} is not set`);
  return value;
}

/** Returns true for the full id of a commit. */
export function isCommit(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{40,64}$/.test(text);
}
