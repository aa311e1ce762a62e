import { shellWord } from '../problems/shell-word.ts';
import { didYouMean } from '../problems/suggest.ts';
import { misuse, UserError } from '../problems/user-error.ts';
import type { Json } from '../values/json.ts';
import { matchesAddress } from './addresses.ts';
import type { FleetDatabase, FleetStatements } from './database/fleet-database.ts';
import { FLEET_SCHEMA } from './database/fleet-tables.ts';
import type { ProjectVersion, WantedProject } from './member.ts';
import { claimWorkspace, releaseWorkspaces, type WorkspaceClaim } from './rows/claim-rows.ts';
import { rejectedPlan } from './rows/finished-runs.ts';
import { unusedPatterns } from './rows/member-rows.ts';
import { lockRows } from './rows/run-rows.ts';
import {
  type FleetFigures,
  type FleetWorkspace,
  fleetFigures,
  shownWorkspaces,
  type WorkspaceFilter,
} from './rows/status-rows.ts';
import { addToken, type ListedToken, listTokens, type NewToken, removeToken } from './rows/token-rows.ts';

export interface FleetStatus extends FleetFigures {
  readonly workspaces: readonly FleetWorkspace[];
}

interface DecisionInput {
  readonly by: string;
  readonly because?: string | undefined;
}

/** Addresses and patterns, with `*` as in the fleet file. */
type WorkspaceNames = readonly string[];

interface Decided {
  readonly changed: readonly string[];
  /** Named workspaces that are already in this state or are excluded. */
  readonly unchanged: readonly string[];
}

interface ProjectOfWorkspace extends WantedProject {
  readonly workspace: string;
  /** The identity of its source for the processes that serve it; null if there is none yet. */
  readonly identity: string | null;
  /** The last version with valid manifests. */
  readonly good: ProjectVersion | undefined;
}

/** The time in milliseconds for which the claim of a killed command stays valid. */
export const CLAIM_MILLISECONDS = 30_000;

/** The actions of a person on a fleet. All errors are `UserError`s. */
export interface FleetControl {
  /** Figures of the whole fleet, and the workspaces that match the filter. */
  status(filter: WorkspaceFilter): Promise<FleetStatus>;
  /** Patterns of rules that match no workspace. */
  unusedPatterns(patterns: readonly string[]): Promise<readonly string[]>;
  /** Requests runs. Paused workspaces that only a pattern matches are skipped. */
  run(names: WorkspaceNames, by: string): Promise<Decided>;
  /** Starts no further runs; a run in progress continues. */
  pause(names: WorkspaceNames, decision: DecisionInput): Promise<Decided>;
  resume(names: WorkspaceNames, by: string): Promise<Decided>;
  /** Approves exactly this plan. Returns its id. @param plan its id or a prefix of it, or the digest that begins with it. */
  approve(address: string, plan: string, by: string): Promise<string>;
  /** Rejects this plan unless it is approved later. Returns its id. */
  reject(address: string, plan: string, decision: DecisionInput): Promise<string>;
  /** The waiting, approved or last rejected plan in the form of `plan --out`, if any. */
  plan(address: string): Promise<Json | undefined>;
  /** The project of the workspace, at the version to run. */
  project(address: string): Promise<ProjectOfWorkspace>;
  /** Claims a workspace of the platform for a command, or renews the claim. */
  claim(claim: WorkspaceClaim): Promise<void>;
  /** Ends the claim of this holder. */
  release(holder: string): Promise<void>;
  /** Creates a token for the page, which cannot be shown again. */
  addToken(token: NewToken): Promise<string>;
  tokens(): Promise<readonly ListedToken[]>;
  /** Also ends its sessions. */
  removeToken(name: string): Promise<void>;
}

/** The length of a plan's short id. */
const SHORTEST = 4;

const S = FLEET_SCHEMA;
/** The open plan, else the last rejected one. */
const CURRENT = `(address, id) = (SELECT p.address, p.id FROM ${S}.plans p JOIN ${S}.workspaces w ON w.address = p.address
WHERE p.address = $1 AND (p.state IN ('waiting', 'approved') OR p.state = 'rejected' AND p.id = w.last->>'rejected')
ORDER BY p.state = 'rejected' LIMIT 1)`;
const LOCKED = `SELECT address FROM ${S}.workspaces WHERE address = ANY ($1::text[]) ORDER BY address FOR UPDATE`;

export function fleetControl(database: FleetDatabase): FleetControl {
  const { ask } = database;

  const known = async (addresses: readonly string[]): Promise<void> => {
    const rows = await ask(
      `SELECT a.address FROM unnest($1::text[]) AS a (address) WHERE NOT EXISTS (SELECT FROM ${S}.workspaces w WHERE w.address = a.address)`,
      addresses,
    );
    const [first] = rows;
    if (first === undefined) return;
    const address = String(first.address);
    const all = await ask(`SELECT address FROM ${S}.workspaces ORDER BY address LIMIT 10000`);
    const near = didYouMean(
      address,
      all.map((row) => String(row.address)),
    );
    throw misuse(
      `the fleet has no workspace ${JSON.stringify(address)}${near}`,
      'An address is SOURCE/PROJECT:WORKSPACE; see: voxform fleet status',
    );
  };

  const named = async (names: WorkspaceNames): Promise<string[]> => {
    const patterns = names.filter((name) => name.includes('*'));
    const addresses = names.filter((name) => !name.includes('*'));
    await known(addresses);
    if (patterns.length === 0) return [...new Set(addresses)];
    const rows = await ask(`SELECT address FROM ${S}.workspaces WHERE vanished_at IS NULL ORDER BY address`);
    const all = rows.map(({ address }) => String(address));
    const matches = patterns.flatMap((pattern) => {
      const found = all.filter((address) => matchesAddress(pattern, address));
      if (found.length > 0) return found;
      throw misuse(
        `no workspace of the fleet matches ${JSON.stringify(pattern)}`,
        'A pattern is an address, SOURCE/PROJECT:WORKSPACE, in which * matches any text; see: voxform fleet status',
      );
    });
    return [...new Set([...addresses, ...matches])];
  };

  const decide = async (
    { address, plan, by, because }: DecisionInput & { readonly address: string; readonly plan: string },
    state: 'approved' | 'rejected',
  ): Promise<string> => {
    await known([address]);
    if (plan.length < SHORTEST)
      throw misuse(
        `${JSON.stringify(plan)} is too short for a plan: name at least ${SHORTEST} characters of its id`,
      );
    return database.atomically(async (statements) => {
      await lockRows(statements, [address]);
      const [open] = await statements.ask(
        `SELECT id, digest, state, decided_by FROM ${S}.plans WHERE ${CURRENT} FOR UPDATE`,
        address,
      );
      const isSame = open !== undefined && String(open.digest).startsWith(plan);
      const waiting = open?.state === 'rejected' ? undefined : open?.id;
      if (!isSame) throw await notWaiting(statements, { address, plan, open: waiting });
      const id = String(open.id);
      const ids = await plansNamed(statements, address, plan);
      if (ids.length > 1)
        throw new UserError(`${ids.length} plans of ${address} begin with ${plan}: ${ids.join(', ')}`);
      if (open.state === state) {
        if (open.decided_by === by) return id;
        throw new UserError(`${open.decided_by} has already ${state} the plan ${id} of ${address}`);
      }
      await statements.ask(
        `UPDATE ${S}.plans SET state = $3, decided_by = $4, decided_at = now() WHERE address = $1 AND id = $2`,
        address,
        id,
        state,
        by,
      );
      await enter(statements, state, { addresses: [address], by, because, plan: id });
      return id;
    });
  };

  const notWaiting = async (
    statements: FleetStatements,
    { address, plan, open }: { readonly address: string; readonly plan: string; readonly open: unknown },
  ): Promise<UserError> => {
    const [row] = await statements.ask(
      `SELECT state, decided_by FROM ${S}.plans WHERE address = $1 AND starts_with(digest, $2)`,
      address,
      plan,
    );
    const decided = row?.decided_by ? ` (decided by ${row.decided_by})` : '';
    const became = row === undefined ? '' : `: it is ${row.state}${decided}`;
    return new UserError(`the plan ${plan} of ${address} does not wait for approval${became}`, {
      hint:
        open === undefined
          ? 'No plan of this workspace waits.'
          : `The plan ${open} waits. Look at it before you approve it: voxform fleet show ${shellWord(address)}`,
    });
  };

  return {
    async status(filter) {
      if (filter.address !== undefined) await known([filter.address]);
      const [figures, workspaces] = await Promise.all([
        fleetFigures(database),
        shownWorkspaces(database, filter),
      ]);
      return { ...figures, workspaces };
    },
    unusedPatterns: (patterns) => unusedPatterns(database, patterns),
    async run(names, by) {
      const addresses = await named(names);
      return database.atomically(async (statements) => {
        await lockRows(statements, addresses);
        const paused = await statements.ask(
          `SELECT address FROM ${S}.workspaces WHERE address = ANY ($1::text[]) AND (paused_at IS NOT NULL OR vanished_at IS NOT NULL)`,
          addresses,
        );
        const skipped = paused.map(({ address }) => String(address));
        const refused = skipped.filter((address) => names.includes(address));
        if (refused.length > 0)
          throw new UserError(`skipped, because paused or removed: ${refused.join(', ')}`, {
            hint: 'No run was requested.',
          });
        const left = addresses.filter((address) => !skipped.includes(address));
        return decided(addresses, await enter(statements, 'requested', { addresses: left, by }));
      });
    },
    async pause(names, decision) {
      const addresses = await named(names);
      return decided(addresses, await enter(database, 'paused', { addresses, ...decision }));
    },
    async resume(names, by) {
      const addresses = await named(names);
      return decided(addresses, await enter(database, 'resumed', { addresses, by }));
    },
    approve: (address, plan, by) => decide({ address, plan, by }, 'approved'),
    reject: (address, plan, decision) => decide({ address, plan, ...decision }, 'rejected'),
    async plan(address) {
      await known([address]);
      const [row] = await ask(`SELECT plan FROM ${S}.plans WHERE ${CURRENT}`, address);
      return row?.plan as Json | undefined;
    },
    async project(address) {
      await known([address]);
      const [row] = await ask(
        `SELECT w.source, w.project, w.workspace, w.version, w.commit, w.good_version, w.good_commit, s.identity
FROM ${S}.workspaces w LEFT JOIN ${S}.sources s ON s.name = w.source WHERE w.address = $1`,
        address,
      );
      const { good_version: good, good_commit: goodCommit, commit, ...rest } = row ?? {};
      return {
        ...rest,
        commit: commit ?? undefined,
        good: good === null ? undefined : { version: good, commit: goodCommit ?? undefined },
      } as ProjectOfWorkspace;
    },
    claim: (claim) => claimWorkspace(database, claim, { expiry: CLAIM_MILLISECONDS, corrects: false }),
    release: (holder) => releaseWorkspaces(database, [holder]),
    addToken: (token) => addToken(database, token),
    tokens: () => listTokens(database),
    removeToken: (name) => removeToken(database, name),
  };
}

function decided(addresses: readonly string[], changed: readonly string[]): Decided {
  return { changed, unchanged: addresses.filter((address) => !changed.includes(address)) };
}

/** Ids of all plans of a workspace with this prefix, including finished ones. */
async function plansNamed({ ask }: FleetStatements, address: string, plan: string): Promise<string[]> {
  const rows = await ask(
    `SELECT id FROM ${S}.plans WHERE address = $1 AND starts_with(digest, $2) ORDER BY id LIMIT 5`,
    address,
    plan,
  );
  return rows.map(({ id }) => String(id));
}

const ASKED = `asked_at = clock_timestamp(), asked_why = $2, asked_by = $3, due_at = least(due_at, now())
WHERE address IN (${LOCKED})`;

/** The statement for each action. */
const DECISIONS = {
  requested: ASKED,
  approved: ASKED,
  rejected: `${rejectedPlan('$4')}
WHERE address IN (${LOCKED})`,
  paused: `paused_at = now(), paused_by = $3, paused_because = $5
WHERE address IN (${LOCKED}) AND paused_at IS NULL`,
  resumed: `paused_at = NULL, paused_by = NULL, paused_because = NULL, due_at = now()
WHERE address IN (${LOCKED}) AND paused_at IS NOT NULL`,
} as const;

interface StoredDecision extends DecisionInput {
  readonly addresses: readonly string[];
  readonly plan?: string;
}

/** Executes the action and adds its author to the list of runs, in one statement. Returns the changed workspaces. */
async function enter(
  { ask }: FleetStatements,
  decision: keyof typeof DECISIONS,
  { addresses, by, plan, because }: StoredDecision,
): Promise<string[]> {
  const rows = await ask(
    `WITH changed AS (UPDATE ${S}.workspaces SET ${DECISIONS[decision]} RETURNING address, mode)
INSERT INTO ${S}.runs (address, started_at, seconds, mode, result, who, plan_id, process, summary)
SELECT address, now(), 0, mode, $2, $3, $4, '', json_strip_nulls(json_build_object('because', $5::text)) FROM changed RETURNING address`,
    addresses,
    decision,
    by,
    plan ?? null,
    because ?? null,
  );
  return rows.map(({ address }) => String(address));
}
