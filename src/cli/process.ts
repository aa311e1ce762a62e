import { renderError } from '../output/errors.ts';
import { createStyle } from '../output/style.ts';
import { ExitCode, UserError } from '../problems/user-error.ts';
import { Redactor } from '../values/redactor.ts';
import { Interrupts } from './interrupts.ts';
import { run } from './run.ts';

const EXIT_CHECK_INTERVAL_MS = 500;

/** Runs the command line of a process and sets the exit code of the process. */
export async function main(process: NodeJS.Process): Promise<void> {
  const interrupts = new Interrupts((exitCode) => {
    const text = interrupts.finishesRequests ? 'Stopped. Run voxform plan to see unknown creates.\n' : '';
    process.stderr.write(text, () => process.exit(exitCode));
  });
  process.on('SIGINT', () => interrupts.raise('SIGINT'));
  process.on('SIGTERM', () => interrupts.raise('SIGTERM'));
  process.on('SIGHUP', () => interrupts.raise('SIGHUP'));
  const redactor = new Redactor();
  process.on('uncaughtException', (error: unknown) => {
    const { redact } = redactor;
    const report = renderError(error, createStyle({ color: false, width: 80 }), { redact });
    process.stderr.write(redact(report), () => process.exit(ExitCode.error));
  });
  process.exitCode = await run({
    args: process.argv.slice(2),
    cwd: workingFolder(process),
    env: process.env,
    stdin: () => process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interrupts,
    redactor,
    now: () => new Date(),
  });
  // An abandoned connection, for example to a database that does not respond, would keep the process alive until it times out.
  const exitIfFlushed = (): void => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  };
  setInterval(exitIfFlushed, EXIT_CHECK_INTERVAL_MS).unref();
}

/** @throws UserError if the working folder was removed. */
function workingFolder(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new UserError('the current folder no longer exists', { hint: 'Change to another folder.', cause });
  }
}
