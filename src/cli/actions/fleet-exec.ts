import { randomUUID } from 'node:crypto';
import { CLAIM_MILLISECONDS, type FleetControl } from '../../fleet/control.ts';
import { FREEZE_CHECK_INTERVAL_MS, FreezeGate } from '../../fleet/freeze-gate.ts';
import type { ProjectVersion, Sources } from '../../fleet/member.ts';
import { formerDatabase, withControl } from '../../fleet/open-fleet.ts';
import { openSources } from '../../fleet/sources/open-sources.ts';
import { FleetFrozen, messageOf } from '../../operator/messages.ts';
import { asDisposable } from '../../problems/as-disposable.ts';
import { UserError, usageError } from '../../problems/user-error.ts';
import { workspaceCommands } from '../../problems/workspace-command.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadProject } from '../../project/load-project.ts';
import type { WorkspaceConfig } from '../../project/project.ts';
import type { Context } from '../context.ts';
import { type FleetFlags, fleetFileOf, projectEnvironment } from './fleet.ts';

/** @throws UserError if the fleet file reads the project from a different source than the processes of the fleet. */
function refuseOtherSource({ source, identity }: Awaited<ReturnType<FleetControl['project']>>, { all }: Sources): void {
  const ownIdentity = all.find(({ name }) => name === source)?.identity;
  if (ownIdentity === identity || identity === null) return;
  const here = ownIdentity === undefined ? 'is not in this fleet file' : `is ${ownIdentity} in this fleet file`;
  throw new UserError(`the source ${source} ${here}, but ${identity} in the database of the fleet`, {
    hint: 'Use the same fleet file as the processes of fleet serve, or restart them after a change. Two fleets in one database need different names for their sources.',
  });
}

/** The commands that need the newest manifests, and report errors in them. Other commands may use the last valid manifests. */
const NEEDING_NEWEST = ['plan', 'apply', 'drift'];

/** The commands that change neither the platform nor the state. All others claim the workspace. */
const READ_ONLY = ['plan', 'drift', 'status', 'history', 'get', 'versions', 'impact'];
const READ_ONLY_STATE = ['list', 'show', 'pull', 'unlock'];

function isReadOnly([name = '', part = '']: readonly string[]): boolean {
  return READ_ONLY.includes(name) || (name === 'state' && READ_ONLY_STATE.includes(part));
}

/** Claims the workspace that a command opens until the claim is disposed of, so that no run uses it under another address. */
function createClaim(control: FleetControl, address: string, { log, interrupts }: Context) {
  const holder = randomUUID();
  let renewal: NodeJS.Timeout | undefined;
  let freezeCheck: NodeJS.Timeout | undefined;
  const gate = new FreezeGate({
    current: () => control.frozen(),
    now: () => performance.now(),
    onChange(freeze) {
      if (freeze === undefined || interrupts.stop.aborted) return;
      const cause = new FleetFrozen(freeze);
      log.warn(`Stopping: ${messageOf(cause)}`);
      interrupts.raise('SIGTERM', cause);
    },
  });
  return {
    writes: gate,
    async begin({ workspaceId, baseUrl }: WorkspaceConfig): Promise<void> {
      let claimedAt = performance.now();
      const claim = async (): Promise<void> => {
        const at = performance.now();
        await control.claim({ address, holder, workspaceId, baseUrl });
        claimedAt = at;
      };
      await claim();
      clearInterval(renewal);
      renewal = setInterval(() => {
        claim().catch((error: unknown) => {
          if (performance.now() - claimedAt < CLAIM_MILLISECONDS || interrupts.stop.aborted) return;
          log.warn(`Stopping, because a run may already be using the workspace: ${messageOf(error)}`);
          interrupts.raise('SIGTERM');
        });
      }, CLAIM_MILLISECONDS / 4);
      clearInterval(freezeCheck);
      // While the database does not respond, the gate refuses writes.
      freezeCheck = setInterval(() => void gate.check().catch(() => undefined), FREEZE_CHECK_INTERVAL_MS);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(renewal);
      clearInterval(freezeCheck);
      // If this fails, the claim expires later.
      await control.release(holder).catch(() => undefined);
    },
  };
}

interface ExecFlags extends FleetFlags {
  readonly address: string;
  readonly command: readonly string[];
  readonly workspace?: readonly string[];
}

/** Runs a command on a workspace of the fleet, with the project and the state that the fleet uses. */
export async function fleetExec(context: Context, flags: ExecFlags): Promise<number> {
  const { address, command, workspace } = flags;
  const { env, cwd, redactor, interrupts, log } = context;
  const [name = ''] = command;
  if (!workspaceCommands.some((each) => each === name)) {
    throw usageError(`fleet exec cannot run ${JSON.stringify(name)}`, `Commands: ${workspaceCommands.join(', ')}.`);
  }
  if (workspace?.length || command.some((word) => /^(-[wC]|--(workspace|chdir)(=|$))/.test(word))) {
    throw usageError('fleet exec chooses the workspace and the folder itself', 'Omit -w and -C.');
  }
  const fleet = fleetFileOf(context, flags);
  const projectEnv = projectEnvironment(env, fleet);
  const sources = openSources({ fleet, home: cwd, env: projectEnv, redactor });
  const isMove = name === 'state' && command[1] === 'move';
  await using _ = asDisposable(isMove ? await formerDatabase(fleet, cwd) : undefined);
  return await withControl(fleet, cwd, async (control) => {
    const member = await control.project(address);
    refuseOtherSource(member, sources);
    const local = sources.local(member.source, member.project);
    const folderAt = async (version: ProjectVersion): Promise<string> =>
      (await sources.checkout({ ...member, ...version }, interrupts.requests)).folder;
    let projectFolder = await folderAt(member);
    let { commit } = member;
    if (member.good !== undefined && !NEEDING_NEWEST.includes(name)) {
      const { good } = member;
      await loadProject({ cwd: projectFolder, env: projectEnv, local }).catch(async (error: unknown) => {
        if (!(error instanceof InvalidProject)) throw error;
        log.warn(`The newest project file of ${address} is invalid. Using the last valid one.`);
        projectFolder = await folderAt(good);
        commit = good.commit;
      });
    }
    await using claim = isReadOnly(command) ? undefined : createClaim(control, address, context);
    return await context.run(command, {
      begin: claim?.begin,
      writes: claim?.writes,
      cwd,
      projectFolder,
      local,
      commit,
      policies: { files: [], fleet: fleet.policies },
      workspace: member.workspace,
      workspaces: [member.workspace],
      selection: { member: address },
      env: projectEnv,
      commandLineEnv: env,
    });
  });
}
