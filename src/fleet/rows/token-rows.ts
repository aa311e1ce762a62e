import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../operator/roles.ts';
import { UserError } from '../../problems/user-error.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

/** The owner of a token, without the token. */
export interface ListedToken {
  readonly name: string;
  readonly role: Role;
  /** ISO 8601. */
  readonly madeAt: string;
  readonly madeBy: string;
}

export interface NewToken extends Pick<ListedToken, 'name' | 'role'> {
  readonly by: string;
}

const S = FLEET_SCHEMA;

/** Without the separator of a token's parts. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9.@+-]{0,62}$/;
const TOKEN = /^voxform_([A-Za-z0-9.@+-]{1,63})_([\w-]{43})$/;
/** The cost of one guess: this time and 32 MiB. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 };

/** Creates a token. Only its recipient knows it afterwards. @throws UserError if the name is invalid or taken. */
export async function addToken({ ask }: FleetStatements, { name, role, by }: NewToken): Promise<string> {
  if (!NAME.test(name)) {
    throw new UserError(`${JSON.stringify(name)} is not a name for a token`, {
      hint: 'Use up to 63 letters, digits and . @ + -, such as ann or ann@example.com.',
    });
  }
  const [secret, salt] = [randomBytes(32).toString('base64url'), randomBytes(16).toString('base64url')];
  const rows = await ask(
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

export async function listTokens({ ask }: FleetStatements): Promise<readonly ListedToken[]> {
  const rows = await ask(`SELECT name, role, made_at, made_by FROM ${S}.tokens ORDER BY name`);
  return rows.map((row) => ({
    name: String(row.name),
    role: row.role as Role,
    madeAt: (row.made_at as Date).toISOString(),
    madeBy: String(row.made_by),
  }));
}

/** Also ends its sessions. @throws UserError if it does not exist. */
export async function removeToken({ ask }: FleetStatements, name: string): Promise<void> {
  const rows = await ask(`DELETE FROM ${S}.tokens WHERE name = $1 RETURNING name`, name);
  if (rows.length > 0) return;
  throw new UserError(`no token exists for ${name}`, { hint: 'See: voxform fleet token list' });
}

/** Fast digests of the right secrets that this process has checked, by their slow hash in the database. */
const checked = new Map<string, Buffer>();

/**
 * The owner of a token; undefined for a wrong one, in the same time.
 * @param isKnown true to find only tokens that this process has checked before, without a slow hash.
 */
export async function personOfToken(
  { ask }: FleetStatements,
  token: string,
  isKnown = false,
): Promise<Pick<ListedToken, 'name' | 'role'> | undefined> {
  const [, name = '', secret = ''] = TOKEN.exec(token) ?? [];
  const [row] = await ask(`SELECT role, salt, hash FROM ${S}.tokens WHERE name = $1`, name);
  const stored = String(row?.hash ?? '');
  const person = { name, role: row?.role as Role };
  const digest = hash('sha256', secret, 'buffer');
  if (isKnown) return timingSafeEqual(checked.get(stored) ?? Buffer.alloc(digest.length), digest) ? person : undefined;
  const made = await slowHash(secret, String(row?.salt ?? ''));
  const known = Buffer.from(stored, 'base64url');
  if (known.length !== made.length || !timingSafeEqual(known, made)) return undefined;
  checked.set(stored, digest);
  return person;
}

let last: Promise<unknown> = Promise.resolve();

/** One at a time: many attempts at once must not exhaust the memory. */
function slowHash(secret: string, salt: string): Promise<Buffer> {
  const hash = last.then(
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(secret, salt, 32, COST, (error, key) => (error === null ? resolve(key) : reject(error)));
      }),
  );
  last = hash.catch(() => undefined);
  return hash;
}
