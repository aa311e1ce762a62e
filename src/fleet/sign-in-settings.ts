import type { Role } from '../operator/roles.ts';
import type { Secret } from '../values/value.ts';

/** `sign_in` of the fleet file. */
export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  /** Public address of the page, without a final slash. */
  readonly address: string;
  readonly nameClaim: string;
  readonly groupsClaim: string;
  /** Groups by role; `*` stands for everyone. */
  readonly roles: { readonly [R in Role]?: readonly string[] | undefined };
  /** Milliseconds. */
  readonly session: number;
}
