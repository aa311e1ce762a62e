import path from 'node:path';
import { isInside, realPath } from '../../manifests/read-file.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { isExecutable } from '../../version.ts';
import { serveAssistant } from '../assistant/server.ts';
import { SettingsAtStart } from '../assistant/settings-at-start.ts';
import type { Context } from '../context.ts';
import { type PolicyFlags, withPolicyFiles } from '../flags.ts';

/**
 * Serves an assistant over the standard streams until it disconnects. The assistant may change every file of the project, so none of them is
 * run once it is served.
 */
export async function mcp(given: Context, flags: PolicyFlags): Promise<number> {
  const { projectFolder, interrupts, terminal } = given;
  const env = projectFolder === undefined ? given.env : withoutPrograms(given.env, realPath(projectFolder));
  const kept = await SettingsAtStart.read(given, env);
  // Libraries of object stores start programs with the environment of the process.
  if (env.PATH !== undefined) process.env.PATH = env.PATH;
  const isReadable = await serveAssistant(withPolicyFiles({ ...given, env, kept }, flags));
  // An open stdin would keep the process running.
  terminal.streams.input.destroy();
  return interrupts.exitCode ?? (isReadable ? ExitCode.ok : ExitCode.error);
}

/**
 * The environment without folders of the project in PATH, such as node_modules/.bin.
 * @throws UserError if voxform itself is in the project, and loads further parts of it when they are needed.
 */
function withoutPrograms(env: Context['env'], root: string): Context['env'] {
  const isOwn = (file: string) => isInside(realPath(file), root);
  // The executable has all its parts inside.
  const parts = isExecutable ? [] : [import.meta.dirname];
  if ([process.execPath, ...parts].some(isOwn)) {
    throw new UserError('voxform is installed in the project, where an assistant can change it', {
      hint: 'Install it outside of the project: npm install --global voxform',
    });
  }
  const folders = env.PATH?.split(path.delimiter).filter((folder) => path.isAbsolute(folder) && !isOwn(folder));
  return { ...env, PATH: folders?.join(path.delimiter) };
}
