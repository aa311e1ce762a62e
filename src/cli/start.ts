import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { VERSION } from '../version.ts';

/** Runs the command line of a process, with no more loaded than it needs. */
export async function start(process: NodeJS.Process): Promise<void> {
  const [first, ...others] = process.argv.slice(2);
  if (others.length === 0 && (first === '--version' || first === '-V')) {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  rememberCompiledCode(process.env);
  const { main } = await import('./main.ts');
  await main(process);
}

/**
 * Where nobody else can write: what is found there is run. Node's own choice is a folder that all users share. Nothing is
 * said where it cannot be kept, and NODE_DISABLE_COMPILE_CACHE is honoured by Node itself.
 */
function rememberCompiledCode({ NODE_COMPILE_CACHE, XDG_CACHE_HOME }: NodeJS.ProcessEnv): void {
  if (NODE_COMPILE_CACHE !== undefined) return;
  const caches = [XDG_CACHE_HOME ?? '', path.join(homeFolder(), '.cache')].find(path.isAbsolute);
  if (caches === undefined) return;
  enableCompileCache(path.join(caches, 'voxform', 'compiled'));
}

function homeFolder(): string {
  try {
    return homedir();
  } catch {
    // A container may run under a number that has no home.
    return '';
  }
}
