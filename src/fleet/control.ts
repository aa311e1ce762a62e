import { FleetFrozen } from '../operator/messages.ts';
import { shellWord } from '../problems/shell-word.ts';
import { didYouMean } from '../problems/suggest.ts';
import { misuse, UserError } from '../problems/user-error.ts';
import type { Json } from '../values/json.ts';
import { matchesAddress } from './addresses.ts';
import type { FleetDatabase, FleetStatements } from './database/fleet-database.ts';
import { claimWorkspace, releaseWorkspaces, type WorkspaceClaim } from './rows/claim-rows.ts';
import {
  addressesOf,
  currentPlan,
  decidePlan,
  enterDecision,
  lockCurrentPlan,
  type ProjectOfWorkspace,
  plansNamed,
  projectOf,
  stoppedAmong,
  unknownAddress,
} from './rows/decision-rows.ts';
import { currentFreeze, endFreeze, enterFreeze, type Freeze } from './rows/freeze-rows.ts';
import { unusedPatterns } from './rows/member-rows.ts';
import { type ListedPull, listedPulls, type PullsProblem, pullProblems } from './rows/pull-rows.ts';
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
  /** Stops all writes of the fleet to platforms. Returns false if it is frozen already. */
  freeze(decision: Pick<Freeze, 'by' | 'because'>): Promise<boolean>;
  /** Ends the freeze. Paused workspaces stay paused. Returns false if there is none. */
  unfreeze(by: string): Promise<boolean>;
  /** The freeze of the fleet, if any. */
  frozen(): Promise<Freeze | undefined>;
  /** Approves exactly this plan. Returns its id. @param plan its id or a prefix of it, or the digest that begins with it. */
  approve(address: string, plan: string, by: string): Promise<string>;
  /** Rejects this plan unless it is approved later. Returns its id. */
  reject(address: string, plan: string, decision: DecisionInput): Promise<string>;
  /** The waiting, approved or last rejected plan in the form of `plan --out`, if any. */
  plan(address: string): Promise<Json | undefined>;
  /** Pull requests with their results: open ones or all, open ones first. */
  pulls(list: { readonly state?: 'open' | undefined }): Promise<readonly ListedPull[]>;
  /** Why pull requests of sources cannot be read. */
  pullProblems(): Promise<readonly PullsProblem[]>;
  /** The project of the workspace, at the version to run. */
  project(address: string): Promise<ProjectOfWorkspace>;
  /** Claims a workspace of the platform for a command, or renews the claim. Refuses that while the fleet is frozen. */
  claim(claim: WorkspaceClaim): Promise<void>;
  /** Ends the claim of this holder. */
  release(holder: string): Promise<void>;
  /** Creates a token for the page, which cannot be shown again. */
  addToken(token: NewToken): Promise<string>;
  tokens(): Promise<readonly ListedToken[]>;
  /** Also ends its sessions. */
  removeToken(name: string): Promise<void>;
}

/** The maximum number of listed pull requests. */
const MOST_PULLS = 1000;
/** The length of a plan's short id. */
const SHORTEST = 4;

export function fleetControl(database: FleetDatabase): FleetControl {
  const known = async (addresses: readonly string[]): Promise<void> => {
    const address = await unknownAddress(database, addresses);
    if (address === undefined) return;
    const near = didYouMean(address, await addressesOf(database, 10_000));
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
    const all = await addressesOf(database);
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
      throw misuse(`${JSON.stringify(plan)} is too short for the id of a plan; use at least ${SHORTEST} characters`);
    return database.atomically(async (statements) => {
      await lockRows(statements, [address]);
      const open = await lockCurrentPlan(statements, address);
      if (open === undefined || !open.digest.startsWith(plan))
        throw await notWaiting(statements, {
          address,
          plan,
          open: open?.state === 'rejected' ? undefined : open?.id,
        });
      const { id, decidedBy } = open;
      const plans = await plansNamed(statements, address, plan);
      if (plans.length > 1)
        throw new UserError(
          `${plans.length} plans of ${address} begin with ${plan}: ${plans.map((each) => each.id).join(', ')}`,
        );
      if (open.state === state) {
        if (decidedBy === by) return id;
        throw new UserError(`${decidedBy} has already ${state} the plan ${id} of ${address}`);
      }
      await decidePlan(statements, { address, id, by, because }, state);
      return id;
    });
  };

  const notWaiting = async (
    statements: FleetStatements,
    { address, plan, open }: { readonly address: string; readonly plan: string; readonly open: string | undefined },
  ): Promise<UserError> => {
    const [former] = await plansNamed(statements, address, plan);
    const by = former?.decidedBy === undefined ? '' : ` (decided by ${former.decidedBy})`;
    const became = former === undefined ? '' : `: it is ${former.state}${by}`;
    return new UserError(`the plan ${plan} of ${address} is not waiting for approval${became}`, {
      hint:
        open === undefined
          ? 'No plan of this workspace is waiting.'
          : `The plan ${open} is waiting. Review it before you approve it: voxform fleet show ${shellWord(address)}`,
    });
  };

  return {
    async status(filter) {
      if (filter.address !== undefined) await known([filter.address]);
      const [figures, workspaces] = await Promise.all([fleetFigures(database), shownWorkspaces(database, filter)]);
      return { ...figures, workspaces };
    },
    unusedPatterns: (patterns) => unusedPatterns(database, patterns),
    async run(names, by) {
      const addresses = await named(names);
      return database.atomically(async (statements) => {
        await lockRows(statements, addresses);
        const skipped = new Set(await stoppedAmong(statements, addresses));
        const refused = names.filter((name) => skipped.has(name));
        if (refused.length > 0)
          throw new UserError(`skipped, because paused or removed: ${refused.join(', ')}`, {
            hint: 'No run was requested.',
          });
        const left = addresses.filter((address) => !skipped.has(address));
        return decided(addresses, await enterDecision(statements, 'requested', { addresses: left, by }));
      });
    },
    async pause(names, decision) {
      const addresses = await named(names);
      return decided(addresses, await enterDecision(database, 'paused', { addresses, ...decision }));
    },
    async resume(names, by) {
      const addresses = await named(names);
      return decided(addresses, await enterDecision(database, 'resumed', { addresses, by }));
    },
    freeze: (decision) => enterFreeze(database, decision),
    unfreeze: (by) => endFreeze(database, by),
    frozen: () => currentFreeze(database),
    approve: (address, plan, by) => decide({ address, plan, by }, 'approved'),
    reject: (address, plan, decision) => decide({ address, plan, ...decision }, 'rejected'),
    async plan(address) {
      await known([address]);
      return currentPlan(database, address);
    },
    pulls: ({ state }) => listedPulls(database, { state, limit: MOST_PULLS }),
    pullProblems: () => pullProblems(database),
    async project(address) {
      await known([address]);
      return projectOf(database, address);
    },
    async claim(claim) {
      const freeze = await currentFreeze(database);
      if (freeze !== undefined) throw new FleetFrozen(freeze);
      await claimWorkspace(database, claim, { expiry: CLAIM_MILLISECONDS, corrects: false });
    },
    release: (holder) => releaseWorkspaces(database, [holder]),
    addToken: (token) => addToken(database, token),
    tokens: () => listTokens(database),
    removeToken: (name) => removeToken(database, name),
  };
}

function decided(addresses: readonly string[], changed: readonly string[]): Decided {
  const isChanged = new Set(changed);
  return { changed, unchanged: addresses.filter((address) => !isChanged.has(address)) };
}
