import { renderError } from '../output/errors.ts';
import { createStyle } from '../output/style.ts';
import { ExitCode } from '../problems/user-error.ts';
import { Redactor } from '../values/redactor.ts';
import { Interrupts } from './interrupts.ts';
import { run } from './run.ts';

/** Milliseconds. */
const EXIT_DELAY = 500;

/** Runs the command line of a process, and sets its exit code. */
export async function main(process: NodeJS.Process): Promise<void> {
  const interrupts = new Interrupts((exitCode) => {
    const text = interrupts.patient ? 'Stopped. Run voxform plan to see unknown creates.\n' : '';
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
    cwd: process.cwd(),
    env: process.env,
    stdin: () => process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interrupts,
    redactor,
    now: () => new Date(),
  });
  // An abandoned connection, such as that of a silent database, would keep the process until its own timeout.
  const leave = (): void => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  };
  setInterval(leave, EXIT_DELAY).unref();
}
