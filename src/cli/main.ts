import { Interrupts } from './interrupts.ts';
import { run } from './run.ts';

/** Runs the command line of a process, and leaves the exit code to it. */
export async function main(process: NodeJS.Process): Promise<void> {
  const interrupts = new Interrupts((exitCode) => process.exit(exitCode));
  process.on('SIGINT', () => interrupts.raise('SIGINT'));
  process.on('SIGTERM', () => interrupts.raise('SIGTERM'));
  process.on('SIGHUP', () => interrupts.raise('SIGTERM'));
  process.exitCode = await run({
    args: process.argv.slice(2),
    cwd: process.cwd(),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interrupts,
    now: () => new Date(),
  });
}
