import type { SignInSettings } from '../../fleet/fleet-file.ts';
import { type Role, roles } from '../../operator/roles.ts';
import type { Claims } from './openid-provider.ts';

/** A person whose identity the provider confirmed. */
export interface Identity {
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}

const MAX_CLAIM_LENGTH = 255;
const MAX_GROUPS = 2000;

/** Returns the person that the claims identify, or the reason why they identify nobody. */
export function identityOf(
  claims: Claims,
  { nameClaim, groupsClaim }: Pick<SignInSettings, 'nameClaim' | 'groupsClaim'>,
): Identity | { readonly problem: string } {
  const { sub, email_verified: verified } = claims;
  const name = claims[nameClaim];
  if (!isText(sub)) return { problem: 'The provider sent no valid sub claim.' };
  if (!isText(name)) return { problem: `The provider sent no valid ${nameClaim} claim.` };
  const isVerified = verified === true || verified === 'true';
  if (groupsClaim === 'email' && !isVerified) return { problem: 'The provider has not verified the email address.' };
  const groupsValue = claims[groupsClaim];
  const groups = (Array.isArray(groupsValue) ? groupsValue : [groupsValue]).filter(isText);
  if (groups.length > MAX_GROUPS) return { problem: `The provider sent more than ${MAX_GROUPS} groups.` };
  // Entra ID never sends email_verified, and Keycloak sends false for addresses that an administrator entered.
  const isDoubtful = nameClaim === 'email' && verified !== undefined && !isVerified;
  return { subject: sub, name: isDoubtful ? `${name.trim()} (unverified)` : name.trim(), groups };
}

/** Returns the highest role with one of these groups. `*` matches everyone. */
export function roleOf(groups: readonly string[], groupsByRole: SignInSettings['roles']): Role | undefined {
  return roles.findLast((role) => groupsByRole[role]?.some((each) => each === '*' || groups.includes(each)));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_CLAIM_LENGTH && !/\p{Cc}/u.test(value);
}
