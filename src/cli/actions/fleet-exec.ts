import { randomUUID } from 'node:crypto';
import { CLAIM_MILLISECONDS, type FleetControl } from '../../fleet/control.ts';
import { FREEZE_CHECK, FreezeGate } from '../../fleet/freeze-gate.ts';
import type { ProjectVersion, Sources } from '../../fleet/member.ts';
import { formerDatabase, withControl } from '../../fleet/open-fleet.ts';
import { openSources } from '../../fleet/sources/open-sources.ts';
import { FleetFrozen, messageOf } from '../../operator/messages.ts';
import { closing } from '../../problems/closing.ts';
import { misuse, UserError } from '../../problems/user-error.ts';
import { workspaceCommands } from '../../problems/workspace-command.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadProject } from '../../project/load-project.ts';
import type { WorkspaceConfig } from '../../project/project.ts';
import type { Context } from '../context.ts';
import { type FleetFlags, fleetFileOf, projectEnvironment } from './fleet.ts';

/** @throws UserError if this fleet file reads the project from another source than the fleet does. */
function refuseOtherSource({ source, identity }: Awaited<ReturnType<FleetControl['project']>>, { all }: Sources): void {
  const own = all.find(({ name }) => name === source)?.identity;
  if (own === identity || identity === null) return;
  const here = own === undefined ? 'is not in this fleet file' : `is ${own} in this fleet file`;
  throw new UserError(`the source ${source} ${here}, but ${identity} in the database of the fleet`, {
    hint: 'Use the fleet file of the processes that serve it, or restart them after a change. Two fleets in one database need different names for their sources.',
  });
}

/** Commands that need the newest manifests and report their errors. */
const OF_NEWEST = ['plan', 'apply', 'drift'];

/** Commands that change neither the platform nor the state. All others claim the workspace. */
const READING = ['plan', 'drift', 'status', 'history', 'get', 'versions', 'impact'];
const READING_STATE = ['list', 'show', 'pull', 'unlock'];

function isReading([name = '', part = '']: readonly string[]): boolean {
  return READING.includes(name) || (name === 'state' && READING_STATE.includes(part));
}

/** Claims the workspace that a command opens until disposed of, so that no run uses it under another address. */
function claiming(control: FleetControl, address: string, { log, interrupts }: Context) {
  const holder = randomUUID();
  let renewal: NodeJS.Timeout | undefined;
  let freezeCheck: NodeJS.Timeout | undefined;
  const gate = new FreezeGate({
    current: () => control.frozen(),
    now: () => performance.now(),
    onChange(freeze) {
      if (freeze === undefined || interrupts.stop.aborted) return;
      const because = new FleetFrozen(freeze);
      log.warn(`Stopping: ${messageOf(because)}`);
      interrupts.raise('SIGTERM', because);
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
          log.warn(`Stopping, because a run may use the workspace by now: ${messageOf(error)}`);
          interrupts.raise('SIGTERM');
        });
      }, CLAIM_MILLISECONDS / 4);
      clearInterval(freezeCheck);
      // Without the database, nothing is written.
      freezeCheck = setInterval(() => void gate.check().catch(() => undefined), FREEZE_CHECK);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(renewal);
      clearInterval(freezeCheck);
      // The claim expires if this fails.
      await control.release(holder).catch(() => undefined);
    },
  };
}

interface ExecFlags extends FleetFlags {
  readonly address: string;
  readonly command: readonly string[];
  readonly workspace?: readonly string[];
}

/** Runs a command in a project of the fleet, on the state that the fleet keeps. */
export async function fleetExec(context: Context, flags: ExecFlags): Promise<number> {
  const { address, command, workspace } = flags;
  const { env, cwd, redactor, interrupts, log } = context;
  const [name = ''] = command;
  if (!workspaceCommands.some((each) => each === name)) {
    throw misuse(`fleet exec cannot run ${JSON.stringify(name)}`, `Commands: ${workspaceCommands.join(', ')}.`);
  }
  if (workspace?.length || command.some((word) => /^(-[wC]|--(workspace|chdir)(=|$))/.test(word))) {
    throw misuse('fleet exec chooses the workspace and the folder itself', 'Leave out -w and -C.');
  }
  const fleet = fleetFileOf(context, flags);
  const ofProjects = projectEnvironment(env, fleet);
  const sources = openSources({ fleet, home: cwd, env: ofProjects, redactor });
  const isMove = name === 'state' && command[1] === 'move';
  await using _ = closing(isMove ? await formerDatabase(fleet, cwd) : undefined);
  return await withControl(fleet, cwd, async (control) => {
    const wanted = await control.project(address);
    refuseOtherSource(wanted, sources);
    const local = sources.local(wanted.source, wanted.project);
    const folderAt = async (version: ProjectVersion): Promise<string> =>
      (await sources.checkout({ ...wanted, ...version }, interrupts.requests)).folder;
    let projectFolder = await folderAt(wanted);
    let { commit } = wanted;
    if (wanted.good !== undefined && !OF_NEWEST.includes(name)) {
      const { good } = wanted;
      await loadProject({ cwd: projectFolder, env: ofProjects, local }).catch(async (error: unknown) => {
        if (!(error instanceof InvalidProject)) throw error;
        log.warn(`The newest project file of ${address} is invalid. Using the last valid one.`);
        projectFolder = await folderAt(good);
        commit = good.commit;
      });
    }
    await using claim = isReading(command) ? undefined : claiming(control, address, context);
    return await context.run(command, {
      begin: claim?.begin,
      writes: claim?.writes,
      cwd,
      projectFolder,
      local,
      commit,
      policies: { files: [], fleet: fleet.policies },
      workspace: wanted.workspace,
      workspaces: [wanted.workspace],
      selection: { member: address },
      env: ofProjects,
      commandLineEnv: env,
    });
  });
}
