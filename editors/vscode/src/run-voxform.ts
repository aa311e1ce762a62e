import { startProcess } from '../../../src/files/run-process.ts';

interface Run {
  /** The file of the command. */
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends the process. */
  readonly signal: AbortSignal;
  /** Called with each line of progress. */
  readonly onProgress?: (line: string) => void;
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  /** The end of what it wrote to stderr. */
  readonly complaint: string;
}

/** Runs the command on the editor's own Node. Rejects with the reason of the signal if aborted. */
export async function runVoxform(
  args: readonly string[],
  { command, cwd, env, signal, onProgress }: Run,
): Promise<Ended> {
  const { child, ended } = await startProcess(process.execPath, [command, '--no-color', ...args], { cwd, env, signal });
  child.stdin.end();
  const chunks: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const line = withoutWarnings(text).trimEnd().split('\n').at(-1);
    if (line) onProgress?.(line);
  });
  const { code, complaint } = await ended;
  return { code, stdout: chunks.join(''), complaint };
}

/** Without warnings and their further lines, which say neither how far a command is nor why it failed. */
export function withoutWarnings(text: string): string {
  return text.replace(/^warning: .*\n(?: {9}.*\n)*/gm, '');
}
