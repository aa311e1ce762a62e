import type { ProjectVersion } from '../../fleet/member.ts';
import { formerDatabase, withControl } from '../../fleet/open-fleet.ts';
import { openSources } from '../../fleet/sources/open-sources.ts';
import { closing } from '../../problems/closing.ts';
import { misuse } from '../../problems/user-error.ts';
import { workspaceCommands } from '../../problems/workspace-command.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadProject } from '../../project/load-project.ts';
import type { Context } from '../context.ts';
import { type FleetFlags, fleetFileOf, projectEnvironment } from './fleet.ts';

/** Commands that need the newest manifests and report their errors. */
const OF_NEWEST = ['plan', 'apply', 'drift'];

interface ExecFlags extends FleetFlags {
  readonly address: string;
  readonly command: readonly string[];
  readonly workspace?: readonly string[];
}

/** Runs a command as if its project named the state that the fleet keeps. */
export async function fleetExec(context: Context, flags: ExecFlags): Promise<number> {
  const { address, command, workspace } = flags;
  const { env, cwd, redactor, interrupts, log } = context;
  const [name = ''] = command;
  if (!workspaceCommands.some((each) => each === name)) {
    throw misuse(
      `fleet exec cannot run ${JSON.stringify(name)}`,
      `Commands: ${workspaceCommands.join(', ')}.`,
    );
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
    return context.run(command, {
      cwd,
      projectFolder,
      local,
      commit,
      policies: { files: [], fleet: fleet.policies },
      workspace: wanted.workspace,
      workspaces: [wanted.workspace],
      reach: { member: address },
      env: ofProjects,
      typedEnv: env,
    });
  });
}
