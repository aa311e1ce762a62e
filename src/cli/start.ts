import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { userFolder } from '../files/user-folder.ts';
import { VERSION } from '../version.ts';

/** Runs the command line of a process, with no more loaded than it needs. */
export async function start(process: NodeJS.Process): Promise<void> {
  const [first, ...others] = process.argv.slice(2);
  if (others.length === 0 && (first === '--version' || first === '-V')) {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  rememberCompiledCode(process.env);
  const { main } = await import('./process.ts');
  await main(process);
}

/**
 * Where nobody else can write: what is found there is run. Node's own choice is a folder that all users share. Nothing is
 * said where it cannot be kept, and NODE_DISABLE_COMPILE_CACHE is honoured by Node itself.
 */
function rememberCompiledCode(env: NodeJS.ProcessEnv): void {
  const folder = userFolder('cache', env);
  if (env.NODE_COMPILE_CACHE !== undefined || folder === undefined) return;
  enableCompileCache(path.join(folder, 'compiled'));
}
