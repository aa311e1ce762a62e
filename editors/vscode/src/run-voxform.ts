import { startProcess } from '../../../src/files/run-process.ts';
import { isObject, tryParseJson } from '../../../src/values/json.ts';
import { withoutLinks } from '../../../src/values/unsafe-text.ts';

interface Run {
  /** The path of voxform's main file. */
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string | undefined;
  /** Aborting this signal ends the process. */
  readonly signal: AbortSignal;
  /** Called with each progress message. */
  readonly onProgress?: (message: string) => void;
}

/** A message of the command. Links are removed. */
export interface Message {
  /** The level of the message; `output` for a line that is not a message. */
  readonly level: string;
  readonly message: string;
}

interface RunResult {
  /** Undefined if the command failed, because some formats then contain an error instead of a result. */
  readonly result: string | undefined;
  readonly messages: readonly Message[];
}

/** Runs voxform on the editor's own Node. Rejects with the reason of the signal if aborted. */
export async function runVoxform(
  args: readonly string[],
  { command, cwd, env, input = '', signal, onProgress }: Run,
): Promise<RunResult> {
  const words = [command, ...args, '--no-color', '--log-format', 'json'];
  const { child, ended } = await startProcess(process.execPath, words, { cwd, env, signal });
  child.stdin.end(input);
  const chunks: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const messages: Message[] = [];
  let partialLine = '';
  child.stderr.on('data', (text: string) => {
    const lines = (partialLine + text).split('\n');
    partialLine = lines.pop() ?? '';
    for (const each of lines.map(messageIn)) {
      messages.push(each);
      if (each.level === 'info') onProgress?.(each.message);
    }
  });
  await ended;
  if (partialLine !== '') messages.push(messageIn(partialLine));
  const hasFailed = chunks.length === 0 || messages.some(({ level }) => level === 'error');
  return { result: hasFailed ? undefined : chunks.join(''), messages };
}

function messageIn(line: string): Message {
  const entry = tryParseJson(line);
  return isObject(entry) && typeof entry.level === 'string' && typeof entry.message === 'string'
    ? { level: entry.level, message: withoutLinks(entry.message) }
    : { level: 'output', message: withoutLinks(line) };
}

/** Returns true if a command failed because no source has the API key. */
export function lacksApiKey(messages: readonly Message[]): boolean {
  return messages.some(
    ({ level, message }) => level === 'error' && /the API key of the workspace .* is not set/.test(message),
  );
}

/** The maximum number of messages in a notification, in addition to the last one, which is the summary. */
const MAX_MESSAGES = 3;

/** Returns the reason why a command failed as one paragraph for a notification. */
export function failureText(messages: readonly Message[]): string {
  const errors = messages.filter(({ level }) => level === 'error');
  const texts = (errors.length === 0 ? messages : errors).map(({ message }) =>
    message
      .replace(/^error: +/, '')
      .replace(/^hint: +(.)/, (_, first: string) => first.toUpperCase())
      .replaceAll(/\s+/g, ' ')
      .replace(/\.?\s*$/, '.'),
  );
  const sentences = texts.length <= MAX_MESSAGES + 1 ? texts : [...texts.slice(0, MAX_MESSAGES), ...texts.slice(-1)];
  return sentences.length === 0 ? 'voxform failed without a message.' : sentences.join(' ');
}
