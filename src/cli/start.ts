import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { userFolder } from '../files/user-folder.ts';
import { VERSION } from '../version.ts';

/** Runs the command line of a process. Loads as little code as possible. */
export async function start(process: NodeJS.Process): Promise<void> {
  const [first, ...others] = process.argv.slice(2);
  if (others.length === 0 && (first === '--version' || first === '-V')) {
    process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      // A closed reader is no failure.
      if (code === 'EPIPE') return;
      process.stderr.write(`error: cannot write the version: ${message}\n`);
      process.exitCode = 1;
    });
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  cacheCompiledCode(process.env);
  const { main } = await import('./process.ts');
  await main(process);
}

/** Caches compiled code in a private folder, because all users share Node's default one. Node honors NODE_DISABLE_COMPILE_CACHE. */
function cacheCompiledCode(env: NodeJS.ProcessEnv): void {
  const folder = userFolder('cache', env);
  if (env.NODE_COMPILE_CACHE !== undefined || folder === undefined) return;
  enableCompileCache(path.join(folder, 'compiled'));
}
