import { kinds, lookups } from '../kinds/index.ts';
import { allDiagnostics } from '../project/all-diagnostics.ts';
import { PROJECT_FILES } from '../project/find-project.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { loadProject } from '../project/load-project.ts';
import type { ProjectConfig } from '../project/project.ts';
import type { RunContext } from './run-context.ts';

/**
 * The project of the context's folder.
 * @throws InvalidProject with all that is wrong in its file.
 */
export function openProject(context: RunContext): Promise<ProjectConfig> {
  const { cwd, projectFolder = cwd, env, cacheFolder } = context;
  return loadProject({ cwd: projectFolder, env, cacheFolder }).catch(async (error: unknown) => {
    throw error instanceof InvalidProject ? await withTheRest(error, context) : error;
  });
}

/** The error with all that is wrong in the project file; the manifests have their turn when it is right. */
async function withTheRest(
  error: InvalidProject,
  { env, workspace: name }: RunContext,
): Promise<InvalidProject> {
  const diagnostics = await allDiagnostics(error, { kinds, lookups, env, name });
  return new InvalidProject(
    diagnostics.filter(({ file, severity }) => PROJECT_FILES.includes(file) && severity === 'error'),
  );
}
