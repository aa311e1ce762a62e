import type { Secret } from '../../../values/value.ts';

/** Where a state server is, and how it is asked: what the settings lead to. */
export interface HttpPlace {
  readonly address: string;
  readonly updateMethod: string;
  readonly lockAddress: string;
  readonly lockMethod: string;
  readonly unlockAddress: string;
  readonly unlockMethod: string;
  readonly username: Secret | string | undefined;
  readonly password: Secret | undefined;
}
