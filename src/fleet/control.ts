import { FleetFrozen } from '../operator/messages.ts';
import { shellWord } from '../problems/shell-word.ts';
import { didYouMean } from '../problems/suggest.ts';
import { UserError, usageError } from '../problems/user-error.ts';
import type { Json } from '../values/json.ts';
import { matchesAddress } from './addresses.ts';
import type { FleetDatabase, FleetStatements } from './database/fleet-database.ts';
import { claimWorkspace, releaseWorkspaces, type WorkspaceClaim } from './rows/claim-rows.ts';
import {
  addressesOf,
  currentPlan,
  decidePlan,
  lockCurrentPlan,
  type ProjectOfWorkspace,
  pausedOrRemoved,
  plansWithPrefix,
  projectOf,
  storeDecision,
  unknownAddress,
} from './rows/decision-rows.ts';
import { currentFreeze, endFreeze, type Freeze, startFreeze } from './rows/freeze-rows.ts';
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

interface DecisionResult {
  readonly changed: readonly string[];
  /** Workspaces that already had the requested status or were skipped. */
  readonly unchanged: readonly string[];
}

/** Milliseconds for which a claim stays valid without renewal, for example after the command was killed. */
export const CLAIM_MILLISECONDS = 30_000;

/** The operations that a person can perform on a fleet. All errors are `UserError`s. */
export interface FleetControl {
  /** Returns the figures of the whole fleet and the workspaces that match the filter. */
  status(filter: WorkspaceFilter): Promise<FleetStatus>;
  /** Returns the rule patterns that no workspace uses. */
  unusedPatterns(patterns: readonly string[]): Promise<readonly string[]>;
  /** Requests runs. Paused workspaces that only a pattern matches are skipped. */
  run(names: WorkspaceNames, by: string): Promise<DecisionResult>;
  /** Pauses workspaces: no further runs start, but a run in progress continues. */
  pause(names: WorkspaceNames, decision: DecisionInput): Promise<DecisionResult>;
  resume(names: WorkspaceNames, by: string): Promise<DecisionResult>;
  /** Stops all writes of the fleet to platforms. Returns false if the fleet is already frozen. */
  freeze(decision: Pick<Freeze, 'by' | 'because'>): Promise<boolean>;
  /** Ends the freeze. Paused workspaces stay paused. Returns false if the fleet is not frozen. */
  unfreeze(by: string): Promise<boolean>;
  frozen(): Promise<Freeze | undefined>;
  /** Approves exactly this plan and returns its id. @param plan the id, or another prefix of the plan's digest. */
  approve(address: string, plan: string, by: string): Promise<string>;
  /** Rejects this plan and returns its id. The plan can still be approved later. */
  reject(address: string, plan: string, decision: DecisionInput): Promise<string>;
  /** Returns the pending, approved or most recently rejected plan, if any, in the format of `plan --out`. */
  plan(address: string): Promise<Json | undefined>;
  /** Returns pull requests with their results: all requests or only open requests. Open requests come first. */
  pulls(list: { readonly state?: 'open' | undefined }): Promise<readonly ListedPull[]>;
  /** Returns the sources whose pull requests cannot be read, and the reasons. */
  pullProblems(): Promise<readonly PullsProblem[]>;
  /** Returns the project of a workspace, with the version that its next run uses. */
  project(address: string): Promise<ProjectOfWorkspace>;
  /** Claims a workspace of the platform for a command, or renews the claim. Fails while the fleet is frozen. */
  claim(claim: WorkspaceClaim): Promise<void>;
  release(holder: string): Promise<void>;
  /** Creates a token for the page and returns it. The token cannot be displayed again. */
  addToken(token: NewToken): Promise<string>;
  tokens(): Promise<readonly ListedToken[]>;
  /** Removes a token and ends its sessions. */
  removeToken(name: string): Promise<void>;
}

/** The maximum number of listed pull requests. */
const MAX_PULLS = 1000;
/** The minimum length of the prefix that selects a plan. */
const MIN_PLAN_PREFIX = 4;

export function fleetControl(database: FleetDatabase): FleetControl {
  const requireKnown = async (addresses: readonly string[]): Promise<void> => {
    const address = await unknownAddress(database, addresses);
    if (address === undefined) return;
    const near = didYouMean(address, await addressesOf(database, 10_000));
    throw usageError(
      `the fleet has no workspace ${JSON.stringify(address)}${near}`,
      'An address is SOURCE/PROJECT:WORKSPACE; see: voxform fleet status',
    );
  };

  const resolveNames = async (names: WorkspaceNames): Promise<string[]> => {
    const patterns = names.filter((name) => name.includes('*'));
    const addresses = names.filter((name) => !name.includes('*'));
    await requireKnown(addresses);
    if (patterns.length === 0) return [...new Set(addresses)];
    const all = await addressesOf(database);
    const matches = patterns.flatMap((pattern) => {
      const found = all.filter((address) => matchesAddress(pattern, address));
      if (found.length > 0) return found;
      throw usageError(
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
    await requireKnown([address]);
    if (plan.length < MIN_PLAN_PREFIX)
      throw usageError(
        `${JSON.stringify(plan)} is too short for a plan id; use at least ${MIN_PLAN_PREFIX} characters`,
      );
    return database.atomically(async (statements) => {
      await lockRows(statements, [address]);
      const open = await lockCurrentPlan(statements, address);
      if (open === undefined || !open.digest.startsWith(plan))
        throw await notPendingError(statements, {
          address,
          plan,
          open: open?.state === 'rejected' ? undefined : open?.id,
        });
      const { id, decidedBy } = open;
      const plans = await plansWithPrefix(statements, address, plan);
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

  const notPendingError = async (
    statements: FleetStatements,
    { address, plan, open }: { readonly address: string; readonly plan: string; readonly open: string | undefined },
  ): Promise<UserError> => {
    const [named] = await plansWithPrefix(statements, address, plan);
    const by = named?.decidedBy === undefined ? '' : ` (decided by ${named.decidedBy})`;
    const state = named === undefined ? '' : `: its status is ${named.state}${by}`;
    return new UserError(`the plan ${plan} of ${address} is not waiting for approval${state}`, {
      hint:
        open === undefined
          ? 'No plan of this workspace is waiting for approval.'
          : `Plan ${open} is waiting for approval. Review it first: voxform fleet show ${shellWord(address)}`,
    });
  };

  return {
    async status(filter) {
      if (filter.address !== undefined) await requireKnown([filter.address]);
      const [figures, workspaces] = await Promise.all([fleetFigures(database), shownWorkspaces(database, filter)]);
      return { ...figures, workspaces };
    },
    unusedPatterns: (patterns) => unusedPatterns(database, patterns),
    async run(names, by) {
      const addresses = await resolveNames(names);
      return database.atomically(async (statements) => {
        await lockRows(statements, addresses);
        const skipped = new Set(await pausedOrRemoved(statements, addresses));
        const refused = names.filter((name) => skipped.has(name));
        if (refused.length > 0)
          throw new UserError(`cannot run paused or removed workspaces: ${refused.join(', ')}`, {
            hint: 'No run was requested.',
          });
        const active = addresses.filter((address) => !skipped.has(address));
        return decisionResult(addresses, await storeDecision(statements, 'requested', { addresses: active, by }));
      });
    },
    async pause(names, decision) {
      const addresses = await resolveNames(names);
      return decisionResult(addresses, await storeDecision(database, 'paused', { addresses, ...decision }));
    },
    async resume(names, by) {
      const addresses = await resolveNames(names);
      return decisionResult(addresses, await storeDecision(database, 'resumed', { addresses, by }));
    },
    freeze: (decision) => startFreeze(database, decision),
    unfreeze: (by) => endFreeze(database, by),
    frozen: () => currentFreeze(database),
    approve: (address, plan, by) => decide({ address, plan, by }, 'approved'),
    reject: (address, plan, decision) => decide({ address, plan, ...decision }, 'rejected'),
    async plan(address) {
      await requireKnown([address]);
      return currentPlan(database, address);
    },
    pulls: ({ state }) => listedPulls(database, { state, limit: MAX_PULLS }),
    pullProblems: () => pullProblems(database),
    async project(address) {
      await requireKnown([address]);
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

function decisionResult(addresses: readonly string[], changed: readonly string[]): DecisionResult {
  const isChanged = new Set(changed);
  return { changed, unchanged: addresses.filter((address) => !isChanged.has(address)) };
}
