import type { Environment } from '../manifests/secret-reader.ts';
import { UserError } from '../problems/user-error.ts';
import { loadProject, parseProject } from '../project/load-project.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { ProjectConfig } from '../project/project.ts';
import { type FleetRule, fleetAddress, nameProblem, projectAddress, shownProject } from './addresses.ts';
import { ruleOf } from './fleet-file.ts';
import type { BrokenProject, DiscoveredProject, FleetMember, FoundProject, SourceContents } from './member.ts';

export interface MembersOptions {
  readonly source: string;
  readonly rules: readonly FleetRule[];
  readonly env: Environment;
  readonly local: LocalPaths;
  text(): Promise<string>;
  /** Returns a folder with all files of the project. */
  checkout(): Promise<string>;
}

/** Returns the workspaces that a project file declares. */
export async function membersOf(found: FoundProject, options: MembersOptions): Promise<DiscoveredProject> {
  const { source, rules } = options;
  const { project, version, commit, isUnknown } = found;
  const known = { project, version, commit };
  const config = nameProblem(project) ?? found.problem ?? (await loadConfig(found, options));
  if (typeof config === 'string') return { ...known, problem: config, isUnknown, members: [] };
  const members = Object.values(config.workspaces).map(({ name, workspaceId, baseUrl }): FleetMember => {
    const address = fleetAddress(source, project, name);
    const { mode, interval } = ruleOf(rules, address);
    return {
      ...known,
      address,
      source,
      workspace: name,
      workspaceId: workspaceId || undefined,
      baseUrl: baseUrl || undefined,
      mode,
      interval,
    };
  });
  return { ...known, problem: undefined, members };
}

export function brokenProjects({ source, projects }: SourceContents): BrokenProject[] {
  return projects.flatMap(({ project, problem }) =>
    problem === undefined ? [] : [{ project: projectAddress(source, shownProject(project)), problem }],
  );
}

/** Loads a project file, or returns its problem. Checks out the project only if the project file alone is not sufficient. */
async function loadConfig(
  { file }: FoundProject,
  { env, local, text, checkout }: MembersOptions,
): Promise<ProjectConfig | string> {
  try {
    return await parseProject(await text(), { root: local.root, file, env, local });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  try {
    return await loadProject({ cwd: await checkout(), env, local });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.message;
  }
}
