import path from 'node:path';
import type { FleetControl } from '../../fleet/control.ts';
import type { FleetDatabase } from '../../fleet/database/fleet-database.ts';
import { setUpTables, tablesScript, tablesVersion } from '../../fleet/database/set-up-tables.ts';
import { FLEET_FILE, type FleetFile, loadFleetFile, secretsOfFleet } from '../../fleet/fleet-file.ts';
import { openFleetDatabase, withControl } from '../../fleet/open-fleet.ts';
import type { ListedToken } from '../../fleet/rows/token-rows.ts';
import type { WorkspaceStatus } from '../../operator/workspace-status.ts';
import { escapeControls } from '../../output/escape-controls.ts';
import type { ReportFormatName } from '../../output/formats/index.ts';
import { jsonText, snakeCased } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import { planReport } from '../../output/report.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { shellWord } from '../../problems/shell-word.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { refuseOverrides } from '../../project/select-workspace.ts';
import { userName } from '../../runs/local-user.ts';
import { Secret } from '../../values/value.ts';
import type { Context } from '../context.ts';
import type { FullFlag, JsonFlag } from '../flags.ts';
import { fleetPullsText, pullWarnings, secondsSinceServed } from '../fleet-pulls-text.ts';
import { fleetStatusText } from '../fleet-status-text.ts';
import { TOKEN_VARIABLE } from '../page-address.ts';

export interface FleetFlags {
  readonly file?: string;
}

/** Loads the fleet file that the flags name, or `fleet.yaml` in the current folder. */
export function fleetFileOf({ cwd, env, redactor }: Context, { file = FLEET_FILE }: FleetFlags): FleetFile {
  const fleet = loadFleetFile(path.resolve(cwd, file), env);
  if (fleet.database instanceof Secret && fleet.database.isSet) redactor.add(fleet.database.reveal());
  return fleet;
}

/**
 * Returns the environment for the projects of the fleet. It does not contain the secrets of the fleet itself.
 * @throws UserError if a variable is set that would affect all projects.
 */
export function projectEnvironment(env: Context['env'], fleet: FleetFile): Context['env'] {
  refuseOverrides(env);
  if (env.PGPASSWORD) {
    throw usageError(
      'PGPASSWORD would be sent to every database that a project names as its state. Unset it.',
      'Put the password in the address of the database in the fleet file: database: { $secret: NAME }.',
    );
  }
  const names = new Set([TOKEN_VARIABLE, ...secretsOfFleet(fleet).map(({ name }) => name)]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
}

interface StatusFlags extends FleetFlags, JsonFlag {
  readonly address?: string;
  readonly only?: readonly WorkspaceStatus[];
  readonly detailedExitcode?: boolean;
}

export async function fleetStatus(context: Context, flags: StatusFlags): Promise<number> {
  const { address, output, only: statuses, detailedExitcode } = flags;
  const { terminal, cwd } = context;
  const limit = output === 'json' ? UNLIMITED : undefined;
  const fleet = fleetFileOf(context, flags);
  const patterns = fleet.rules.map(({ pattern }) => pattern);
  const status = await withControl(fleet, cwd, async (control) => ({
    ...(await control.status({ address, statuses, limit })),
    unusedRules: await control.unusedPatterns(patterns),
  }));
  const text = output === 'json' ? jsonText(snakeCased(status)) : fleetStatusText(status, terminal.tableStyle, address);
  terminal.out(text);
  const isInSync =
    address !== undefined || statuses !== undefined
      ? status.workspaces.every((each) => each.status === 'in-sync')
      : status.sources.every(({ problem, broken }) => problem === null && broken.length === 0) &&
        Object.entries(status.counts).every(([name, count]) => name === 'in-sync' || count === 0);
  return detailedExitcode && !isInSync ? ExitCode.changes : ExitCode.ok;
}

const UNLIMITED = 1_000_000;

interface ControlFlags extends FleetFlags {
  readonly addresses: readonly string[];
  readonly because?: string;
}

/** Creates the action that requests runs, or pauses or resumes workspaces. The action prints the number of changed workspaces. */
function controlAction(verb: 'run' | 'pause' | 'resume') {
  return async (context: Context, flags: ControlFlags): Promise<void> => {
    const { addresses, because } = flags;
    const by = userName(context.env);
    const { changed, unchanged } = await withFleet(context, flags, (control) =>
      verb === 'pause' ? control.pause(addresses, { by, because }) : control[verb](addresses, by),
    );
    const isOne = unchanged.length === 1;
    const reason = because === undefined ? '' : isOne ? ' and keeps its reason' : ' and keep their reasons';
    const rest =
      verb === 'run'
        ? `Skipped ${unchanged.length}: paused.`
        : `${unchanged.length} ${isOne ? 'was' : 'were'} ${verb === 'pause' ? 'already' : 'not'} paused${reason}.`;
    const noun = verb === 'run' ? 'run' : 'workspace';
    const participle = { run: 'Requested', pause: 'Paused', resume: 'Resumed' }[verb];
    context.terminal.out(`${participle} ${plural(changed.length, noun)}.${unchanged.length === 0 ? '' : ` ${rest}`}\n`);
  };
}

export const fleetRun = controlAction('run');
const pauseWorkspaces = controlAction('pause');
const resumeWorkspaces = controlAction('resume');

interface AllFlags extends ControlFlags {
  readonly all?: boolean;
}

/** @throws UserError unless the command has either addresses or `--all`. */
function refuseUnclear({ addresses, all }: AllFlags, verb: 'pause' | 'resume'): void {
  if (all && addresses.length > 0)
    throw usageError(`--all ${verb}s the whole fleet, so it takes no addresses`, 'Omit --all or the addresses.');
  if (!all && addresses.length === 0)
    throw usageError(`no workspaces to ${verb}`, `Name their addresses, or ${verb} the whole fleet with --all.`);
}

/** Pauses workspaces, or freezes the fleet with `--all`. */
export async function fleetPause(context: Context, flags: AllFlags): Promise<void> {
  refuseUnclear(flags, 'pause');
  if (!flags.all) return pauseWorkspaces(context, flags);
  const because = flags.because?.trim() ?? '';
  if (because === '')
    throw usageError('--all needs a reason', 'Add --because TEXT, which fleet status and the history show.');
  const by = userName(context.env);
  const [isNew, freeze] = await withFleet(context, flags, async (control) => [
    await control.freeze({ by, because }),
    await control.frozen(),
  ]);
  const details = freeze === undefined ? '' : ` by ${freeze.by} since ${freeze.at}: ${freeze.because}`;
  context.terminal.out(
    isNew
      ? 'Froze the fleet: nothing is written until voxform fleet resume --all.\n'
      : `The fleet was frozen already${escapeControls(details)}.\n`,
  );
}

/** Resumes workspaces, or ends the freeze of the fleet with `--all`. */
export async function fleetResume(context: Context, flags: AllFlags): Promise<void> {
  refuseUnclear(flags, 'resume');
  if (!flags.all) return resumeWorkspaces(context, flags);
  const wasFrozen = await withFleet(context, flags, (control) => control.unfreeze(userName(context.env)));
  context.terminal.out(wasFrozen ? 'Resumed the fleet.\n' : 'The fleet was not frozen.\n');
}

interface DecisionFlags extends FleetFlags {
  readonly address: string;
  readonly plan: string;
  readonly because?: string;
}

export async function fleetApprove(context: Context, flags: DecisionFlags): Promise<void> {
  const { address, plan } = flags;
  const [id, isPaused, isFrozen] = await withFleet(context, flags, async (control) => {
    const approved = await control.approve(address, plan, userName(context.env));
    const { workspaces, frozen } = await control.status({ address });
    return [approved, Boolean(workspaces[0]?.paused), frozen !== null] as const;
  });
  const paused = isPaused
    ? ` The workspace is paused. To apply the plan: voxform fleet resume ${shellWord(address)}`
    : '';
  const after = isFrozen ? `${paused} The fleet is frozen. To apply the plan: voxform fleet resume --all` : paused;
  context.terminal.out(`Approved plan ${id} of ${address}.${after}\n`);
}

export async function fleetReject(context: Context, flags: DecisionFlags): Promise<void> {
  const { address, plan, because } = flags;
  const by = userName(context.env);
  const id = await withFleet(context, flags, (control) => control.reject(address, plan, { by, because }));
  context.terminal.out(
    `Rejected plan ${id} of ${address}. To approve it after all: voxform fleet approve ${shellWord(address)} ${id}\n`,
  );
}

interface ShowFlags extends FleetFlags, FullFlag {
  readonly address: string;
  readonly output: ReportFormatName;
}

export async function fleetShow(context: Context, flags: ShowFlags): Promise<void> {
  const { address, output } = flags;
  const found = await withFleet(context, flags, (control) => control.plan(address));
  if (found === undefined) throw new UserError(`${address} has no waiting, approved or rejected plan`);
  const { planDocument } = await import('../../engine/plan/plan-schema.ts');
  const { approvalDigest } = await import('../../engine/plan/plan-digest.ts');
  const { report } = await import('./report.ts');
  const plan = planDocument.parse(found);
  await report(context, { ...flags, selection: { member: address }, isSaved: true }, planReport(plan));
  if (output !== 'text') return;
  const operands = `${shellWord(address)} ${approvalDigest(plan).slice(0, 12)}`;
  context.terminal.out(
    `\nTo approve it: voxform fleet approve ${operands}\nTo reject it: voxform fleet reject ${operands}\n`,
  );
}

interface PullsFlags extends FleetFlags, JsonFlag {
  readonly all?: boolean;
}

/** Lists pull requests with their newest commit, their status and the results of their workspaces. */
export async function fleetPulls(context: Context, flags: PullsFlags): Promise<void> {
  const { terminal, log } = context;
  const [pulls, problems, status] = await withFleet(context, flags, (control) =>
    Promise.all([
      control.pulls({ state: flags.all ? undefined : 'open' }),
      control.pullProblems(),
      control.status({ limit: 0 }),
    ]),
  );
  for (const remark of pullWarnings(problems, status)) log.warn(remark);
  if (flags.output === 'json')
    terminal.out(jsonText(snakeCased({ pulls, problems, served: secondsSinceServed(status) === undefined })));
  else if (pulls.length === 0) log.info(flags.all ? 'No pull requests.' : 'No open pull requests.');
  else terminal.out(fleetPullsText(pulls, terminal.tableStyle));
}

/** Creates the tables of the fleet, or prints the SQL script for an administrator. */
export async function fleetInit(context: Context, flags: FleetFlags & { readonly sql?: boolean }): Promise<void> {
  const { cwd, terminal } = context;
  const fleet = fleetFileOf(context, flags);
  if (fleet.database === undefined && flags.sql) {
    const hint = 'Set database in the fleet file to the address of a PostgreSQL database.';
    throw usageError('the embedded database needs no set-up', hint);
  }
  const database = await openFleetDatabase(fleet, cwd, 'command');
  try {
    if (flags.sql) {
      const { queueScript, queueVersion } = await import('../../fleet/database/queue-tables.ts');
      const role = roleOf(database);
      const versions = Promise.all([tablesVersion(database), queueVersion(database)]);
      const [tables, queue] = await versions.catch((error: unknown) => {
        // If the database cannot be reached, the script must create all tables.
        if (error instanceof UserError && error.cause === undefined) throw error;
        return [0, 0];
      });
      terminal.out(`BEGIN;\n${tablesScript(role, tables)}\nCOMMIT;\n${queueScript(role, queue)}\n`);
    } else {
      await setUpTables(database);
      const { Queue } = await import('../../fleet/queue.ts');
      const queue = await Queue.open(database, { heartbeat: 30, monitor: 60, expiry: 3600 }, () => undefined);
      await queue.close();
      terminal.out(`The tables of the fleet are in ${database.location}.\n`);
    }
  } finally {
    await database.close();
  }
}

function roleOf({ user }: FleetDatabase): string {
  if (user !== undefined) return user;
  throw new UserError('the database address contains no user to grant rights to', {
    hint: 'Write it as postgres://USER@HOST:5432/DATABASE.',
  });
}

function withFleet<T>(context: Context, flags: FleetFlags, work: (control: FleetControl) => Promise<T>): Promise<T> {
  return withControl(fleetFileOf(context, flags), context.cwd, work);
}

interface TokenFlags extends FleetFlags {
  readonly name: string;
}

/** Adds a token and prints it. The token cannot be shown again, because only its hash is stored. */
export async function tokenAdd(context: Context, flags: TokenFlags & Pick<ListedToken, 'role'>): Promise<void> {
  const { name, role } = flags;
  const { terminal, log, env } = context;
  const token = await withFleet(context, flags, (control) => control.addToken({ name, role, by: userName(env) }));
  log.info(`Token of ${name} with the role ${role}. It cannot be shown again.`);
  terminal.out(`${token}\n`);
}

export async function tokenList(context: Context, flags: FleetFlags & JsonFlag): Promise<void> {
  const { terminal, log } = context;
  const tokens = await withFleet(context, flags, (control) => control.tokens());
  if (flags.output === 'json') terminal.out(jsonText(snakeCased(tokens)));
  else if (tokens.length === 0) log.info('No tokens yet.');
  else {
    const columns = [...noWrapColumns('NAME'), 'ROLE', 'CREATED', 'BY'];
    const rows = tokens.map(({ name, role, madeAt, madeBy }) => [name, role, madeAt.slice(0, 10), madeBy]);
    terminal.out(renderTable(columns, rows, terminal.tableStyle));
  }
}

export async function tokenRemove(context: Context, flags: TokenFlags): Promise<void> {
  await withFleet(context, flags, (control) => control.removeToken(flags.name));
  context.terminal.out(`Removed the token of ${flags.name} and ended its sessions.\n`);
}
