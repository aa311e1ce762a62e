import path from 'node:path';
import { isInside, realPath } from '../../manifests/read-file.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { isExecutable } from '../../version.ts';
import { serveAssistant } from '../assistant/server.ts';
import { StartupSettings } from '../assistant/startup-settings.ts';
import type { Context } from '../context.ts';
import { type PolicyFlags, withPolicyFiles } from '../flags.ts';

/** Runs the MCP server over stdin and stdout. The assistant may change every file, so no program of the project runs after startup. */
export async function mcp(given: Context, flags: PolicyFlags): Promise<number> {
  const { projectFolder, interrupts, terminal } = given;
  const env = projectFolder === undefined ? given.env : withoutPrograms(given.env, realPath(projectFolder));
  const startup = await StartupSettings.read(given, env);
  // The client libraries of object stores start programs with the environment of this process.
  if (env.PATH !== undefined) process.env.PATH = env.PATH;
  const isReadable = await serveAssistant(withPolicyFiles({ ...given, env, startup }, flags));
  // An open stdin would keep the process running.
  terminal.streams.input.destroy();
  return interrupts.exitCode ?? (isReadable ? ExitCode.ok : ExitCode.error);
}

/**
 * Returns the environment without the folders of the project in PATH, such as node_modules/.bin.
 * @throws UserError if voxform is installed in the project, because it loads parts of its code on demand.
 */
function withoutPrograms(env: Context['env'], root: string): Context['env'] {
  const isInProject = (file: string) => isInside(realPath(file), root);
  // The executable contains all code. The npm package loads its code from this folder.
  const codeFolders = isExecutable ? [] : [import.meta.dirname];
  if ([process.execPath, ...codeFolders].some(isInProject)) {
    throw new UserError('voxform is installed in the project, where an assistant can change it', {
      hint: 'Install it outside of the project: npm install --global voxform',
    });
  }
  const folders = env.PATH?.split(path.delimiter).filter((folder) => path.isAbsolute(folder) && !isInProject(folder));
  return { ...env, PATH: folders?.join(path.delimiter) };
}
