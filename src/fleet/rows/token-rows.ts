import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../operator/roles.ts';
import { UserError } from '../../problems/user-error.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

/** A token in a list, without its secret. */
export interface ListedToken {
  readonly name: string;
  readonly role: Role;
  /** The time at which the token was created, in ISO 8601. */
  readonly madeAt: string;
  readonly madeBy: string;
}

export interface NewToken extends Pick<ListedToken, 'name' | 'role'> {
  readonly by: string;
}

const S = FLEET_SCHEMA;

/** Names must not contain `_`, which separates the parts of a token. */
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9.@+-]{0,62}$/;
const TOKEN_PATTERN = /^voxform_([A-Za-z0-9.@+-]{1,63})_([\w-]{43})$/;
/** The parameters of scrypt. Each guess needs 32 MiB of memory. */
const SCRYPT_OPTIONS = { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 };

/** Creates a token and returns it. Only its hash is stored. @throws UserError if the name is invalid or taken. */
export async function addToken({ query }: FleetStatements, { name, role, by }: NewToken): Promise<string> {
  if (!NAME_PATTERN.test(name)) {
    throw new UserError(`${JSON.stringify(name)} is not a valid token name`, {
      hint: 'Use up to 63 letters, digits and . @ + -, such as ann or ann@example.com.',
    });
  }
  const [secret, salt] = [randomBytes(32).toString('base64url'), randomBytes(16).toString('base64url')];
  const rows = await query(
    `INSERT INTO ${S}.tokens (name, role, salt, hash, made_by) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO NOTHING RETURNING name`,
    name,
    role,
    salt,
    (await slowHash(secret, salt)).toString('base64url'),
    by,
  );
  if (rows.length === 0) {
    throw new UserError(`a token for ${name} already exists`, {
      hint: `Remove it first: voxform fleet token remove ${name}`,
    });
  }
  return `voxform_${name}_${secret}`;
}

export async function listTokens({ query }: FleetStatements): Promise<readonly ListedToken[]> {
  const rows = await query(`SELECT name, role, made_at, made_by FROM ${S}.tokens ORDER BY name`);
  return rows.map((row) => ({
    name: String(row.name),
    role: row.role as Role,
    madeAt: (row.made_at as Date).toISOString(),
    madeBy: String(row.made_by),
  }));
}

/** Removes a token and ends its sessions. @throws UserError if the token does not exist. */
export async function removeToken({ query }: FleetStatements, name: string): Promise<void> {
  const rows = await query(`DELETE FROM ${S}.tokens WHERE name = $1 RETURNING name`, name);
  if (rows.length > 0) return;
  throw new UserError(`no token exists for ${name}`, { hint: 'See: voxform fleet token list' });
}

/** The fast digests of the secrets that this process has verified, by the slow hash in the database. */
const verifiedDigests = new Map<string, Buffer>();

/**
 * Returns the owner of a token; undefined if the token is invalid. Both cases take the same time.
 * @param isVerified true to accept only tokens that this process has already verified, without computing a slow hash.
 */
export async function personOfToken(
  { query }: FleetStatements,
  token: string,
  isVerified = false,
): Promise<Pick<ListedToken, 'name' | 'role'> | undefined> {
  const [, name = '', secret = ''] = TOKEN_PATTERN.exec(token) ?? [];
  const [row] = await query(`SELECT role, salt, hash FROM ${S}.tokens WHERE name = $1`, name);
  const stored = String(row?.hash ?? '');
  const person = { name, role: row?.role as Role };
  const digest = hash('sha256', secret, 'buffer');
  if (isVerified)
    return timingSafeEqual(verifiedDigests.get(stored) ?? Buffer.alloc(digest.length), digest) ? person : undefined;
  const computed = await slowHash(secret, String(row?.salt ?? ''));
  const expected = Buffer.from(stored, 'base64url');
  if (expected.length !== computed.length || !timingSafeEqual(expected, computed)) return undefined;
  verifiedDigests.set(stored, digest);
  return person;
}

let lastHash: Promise<unknown> = Promise.resolve();

/** Computes one hash at a time, so that many concurrent attempts cannot exhaust the memory. */
function slowHash(secret: string, salt: string): Promise<Buffer> {
  const hash = lastHash.then(
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(secret, salt, 32, SCRYPT_OPTIONS, (error, key) => (error === null ? resolve(key) : reject(error)));
      }),
  );
  lastHash = hash.catch(() => undefined);
  return hash;
}
