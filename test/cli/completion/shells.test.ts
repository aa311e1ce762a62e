import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { CACHES, type Folder, temporaryFolder } from '../voxform-process.ts';

const MAIN = path.join(inject('built'), 'main.js');

/** The typed lines, and the lines after the Tab key. */
const cases = [
  { typed: 'voxform valid', completed: 'voxform validate', reason: 'a command' },
  { typed: 'voxform state unl', completed: 'voxform state unlock', reason: 'a command of a group' },
  { typed: 'voxform plan --tar', completed: 'voxform plan --target', reason: 'a flag' },
  {
    typed: 'voxform plan --output=ma',
    completed: 'voxform plan --output=markdown',
    reason: 'a joined value',
  },
  { typed: 'voxform plan --output ma', completed: 'voxform plan --output markdown', reason: 'a value' },
  {
    typed: 'voxform -C "my project" plan --target Agent/',
    completed: 'voxform -C "my project" plan --target Agent/day',
    reason: 'an address in a folder with a space in its name',
  },
  {
    typed: 'voxform -C "my project" -w stag',
    completed: 'voxform -C "my project" -w staging',
    reason: 'a workspace',
  },
  { typed: 'voxform apply pla', completed: 'voxform apply plan.json', reason: 'a file' },
  {
    typed: 'voxform -C "my project" apply sav',
    completed: 'voxform -C "my project" apply saved.json',
    reason: 'a file of the folder of -C',
  },
  { typed: 'voxform plan --out=pla', completed: 'voxform plan --out=plan.json', reason: 'a file after an =' },
  { typed: 'voxform export --out mor', completed: 'voxform export --out more', reason: 'a folder' },
] as const;

const KEY_TAB = '\t';
const [KEY_HOME, KEY_END] = ['\u0001', '\u0005'];

let folder: Folder;

beforeAll(async () => {
  folder = await temporaryFolder({
    'bin/voxform': `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
    'plan.json': '',
    'more/file': '',
    'my project/saved.json': '',
    'my project/voxform.yaml': `version: 1
workspaces:
  staging: { base_url: "http://127.0.0.1:9", workspace_id: W1 }
`,
    'my project/manifests/a.yaml': 'kind: Agent\nmetadata: { name: day }\n',
  });
  await chmod(path.join(folder.root, 'bin', 'voxform'), 0o755);
});

afterAll(() => folder[Symbol.asyncDispose]());

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: `${folder.root}/bin:${process.env.PATH}`,
    HOME: folder.root,
    XDG_CACHE_HOME: CACHES,
    TERM: 'dumb',
    LC_ALL: 'C.UTF-8',
  };
}

/** Types these lines into an interactive shell on a terminal of its own and returns its output. */
function typeInto(shell: string, lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-qec', shell, '/dev/null'], { cwd: folder.root, env: environment() });
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
    });
    child.once('error', reject);
    child.once('close', () => resolve(shown));
    child.stdin.end([...lines, 'exit', ''].join('\n'));
  });
}

/** Presses Tab at the end of each line and lets the shell print the result. Shells differ in a slash after a folder. */
async function completedBy(shell: string, start: readonly string[]): Promise<string[]> {
  const lines = cases.map(({ typed }) => `${typed}${KEY_TAB}${KEY_HOME}print_it '${KEY_END}'`);
  const shown = await typeInto(shell, [...start, ...lines]);
  return [...shown.matchAll(/<<([^<>]*)>>/g)].map(([, line = '']) => line.trimEnd().replace(/\/$/, ''));
}

const expected = cases.map(({ completed }) => completed);

describe.each([
  {
    name: 'bash',
    shell: 'bash --norc --noprofile -i',
    start: ["print_it() { printf '%s%s%s\\n' '<' \"<$1>\" '>'; }", 'source <(voxform completion bash)'],
  },
  {
    name: 'zsh',
    shell: 'zsh -f -i',
    start: [
      "print_it() { print -r -- '<'\"<$1>\"'>' }",
      'autoload -Uz compinit; compinit -u -D; bindkey -e; source <(voxform completion zsh)',
    ],
  },
])('$name', ({ name, shell, start }) => {
  const isHere = isInstalled(name) && isInstalled('script');
  it.skipIf(!isHere)(
    `completes the typed line${isHere ? '' : ` (NOT RUN: ${name} OR script IS MISSING)`}`,
    { tags: name === 'bash' ? [] : ['long'] },
    async () => {
      expect(await completedBy(shell, start)).toEqual(expected);
    },
  );
});

describe('fish', () => {
  const isHere = isInstalled('fish');
  it.skipIf(!isHere)(
    `completes the typed line${isHere ? '' : ' (NOT RUN: fish IS MISSING)'}`,
    { tags: ['long'] },
    async () => {
      const completions = cases.map(({ typed }) => `complete -C '${typed}' | string replace -r '\\t.*' ''`);
      const script = ['voxform completion fish | source', ...completions.map((ask) => `echo "<<"(${ask})">>"`)];
      const shown = await new Promise<string>((resolve, reject) =>
        execFile(
          'fish',
          ['--no-config', '-c', script.join('\n')],
          { cwd: folder.root, env: environment() },
          (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(stderr))),
        ),
      );
      const words = [...shown.matchAll(/<<([^<>]*)>>/g)].map(([, word = '']) => word.replace(/\/$/, ''));
      expect(words).toEqual(expected.map((line) => line.slice(line.lastIndexOf(' ') + 1)));
    },
  );
});

describe('PowerShell', () => {
  it.todo('completes the typed line (NOT RUN: PowerShell is not installed where the tests run)');
});

function isInstalled(command: string): boolean {
  return (process.env.PATH ?? '').split(path.delimiter).some((each) => existsSync(path.join(each, command)));
}
