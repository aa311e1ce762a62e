import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { examplesOf, pathOf } from '../../src/cli/help.ts';
import { normaliseArgs } from '../../src/cli/normalise-args.ts';
import { hintForOtherTool, hintsByWord } from '../../src/cli/other-tools.ts';
import { createProgram } from '../../src/cli/program.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

const program = await createProgram(async () => undefined);

describe('spellings of other tools', () => {
  it.each([
    ['apply -auto-approve', 'apply --auto-approve', 'one dash'],
    ['plan -out=f', 'plan --out=f', 'one dash and a value'],
    ['plan -out f', 'plan --out f', 'one dash and a value of its own'],
    ['plan -target Agent/a -target=Agent/b', 'plan --target Agent/a --target=Agent/b', 'one dash, twice'],
    ['fmt -check', 'fmt --check', 'one dash before a flag of the command'],
    ['-chdir=dir plan', '--chdir=dir plan', 'one dash before a flag of all commands'],
    ['plan -no-color', 'plan --no-color', 'one dash before a negation'],
    ['-version', '--version', 'one dash before a flag whose first letter is a flag'],
    ['plan -help', 'plan --help', 'one dash before help'],
    ['plan -o json', 'plan --output json', 'as kubectl'],
    ['plan -o=json', 'plan --output=json', 'as kubectl, joined'],
    ['plan -ojson', 'plan --output=json', 'as kubectl, joined without ='],
    ['plan --json', 'plan --output=json', 'as gh'],
    ['plan -json', 'plan --output=json', 'as Terraform'],
    ['apply -y', 'apply --auto-approve', 'as apt'],
    ['help state list', 'state list --help', 'help of a command in a group'],
    ['help', '--help', 'help alone'],
    ['help help', '--help', 'help of help'],
    ['plan -qv', 'plan -qv', 'two short flags together'],
    ['plan -vqCdir', 'plan -vqCdir', 'short flags and a value together'],
    ['plan -wstaging', 'plan -wstaging', 'a value joined to a short flag'],
    ['plan -var x=y', 'plan --var x=y', 'one dash before a flag that is unknown'],
    ['get -15', 'get -15', 'a negative number'],
    ['plan -q -v', 'plan -q -v', 'short flags'],
    ['plan --out -y', 'plan --out -y', 'a value that looks like a flag'],
    ['fmt -- -check', 'fmt -- -check', 'a file that looks like a flag'],
    ['graph --json', 'graph --json', 'a format that the command does not have'],
    ['plan -y', 'plan -y', 'a command without approval'],
    ['init -', 'init -', 'a dash alone'],
  ])('are normalised from %s to %s: %s', (given, meant) => {
    expect(normaliseArgs(program, given.split(' '))).toEqual(meant.split(' '));
  });

  it('work in an apply with one dash and -o json', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const { code, stdout } = await workspace.run('apply', '-auto-approve', '-o', 'json');
    expect({
      code,
      results: JSON.parse(stdout).resources.map(({ result }: { readonly result: string }) => result),
    }).toEqual({
      code: 0,
      results: ['done'],
    });
  });
});

describe('words of other tools', () => {
  it.each(Object.keys(hintsByWord))('get a hint: %s', async (word) => {
    await using folder = await temporaryFolder();
    const args = word.startsWith('-') ? ['apply', word] : word.split(' ');
    const { code, stdout, stderr } = await command(args, { cwd: folder.root });
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.replace(/\s+/g, ' ')).toContain(hintForOtherTool(word));
    expect(stderr).not.toContain('did you mean');
  });

  it.each([
    [['destroy'], 'The API cannot delete'],
    [['help', 'destroy'], 'The API cannot delete'],
    [['init', '-upgrade'], 'nothing to upgrade'],
    [['lint', '--strict'], 'voxform validate'],
    [['update'], 'voxform apply'],
    [['stack'], 'voxform workspace list'],
    [['force-unlock'], 'voxform state unlock'],
    [['taint', 'Agent/a'], 'cannot force a replacement'],
    [['describe'], 'voxform get TYPE'],
    [['output', 'agent_id'], 'voxform state list'],
    [['logs', '-f'], 'voxform get calls'],
    [['console'], 'voxform state show'],
    [['fleet', 'list'], 'voxform fleet status'],
    [['apply', '-f', 'a.yaml'], '--target ADDRESS'],
    [['plan', '--filename=a.yaml'], '--target ADDRESS'],
    [['state', 'remove', 'Agent/a'], 'Use voxform state rm ADDRESS.'],
    [['state', 'remove', '--help'], 'Use voxform state rm ADDRESS.'],
    [['workspace', 'select', 'prod'], '-w NAME'],
    [['state', 'destroy'], 'The API cannot delete'],
    [['fleet', 'history'], 'Run voxform fleet --help'],
    [['fleet', 'delete'], 'Run voxform fleet --help'],
    [['orphans', 'rm', 'x'], "unknown command 'rm' hint: Use voxform orphans close ID --because deleted"],
    [['orphans', 'clsoe', 'x'], `unknown command 'clsoe'; did you mean "close"?`],
    [['orphans', 'close', 'x'], 'One of deleted, handed-over, kept. Run voxform orphans close --help'],
    [['status', 'Agent/x'], 'Use --target Agent/x. Run voxform status --help'],
    [['get'], 'One of agents, numbers, webhooks, users, knowledge-bases, versions, calls'],
    [['plan', '-targt=Agent/x'], `unknown option '-targt'; did you mean "--target"?`],
    [['apply', '--allow-older-commit=1'], '--allow-older-commit takes no value'],
    [['plan', '--targt=Agent/x'], `unknown option '--targt'; did you mean "--target"?`],
    [['init', 'd', '--force'], 'init keeps existing files'],
    [['validate', '--force'], "unknown option '--force' hint: Run voxform validate --help"],
    [['plan', '-lock=false'], 'use --lock-timeout 30s'],
    [['plan', '-var', 'x=y'], "unknown option '-var' hint: Set variables under vars"],
    [['plan', '-var=x=y'], "unknown option '-var'"],
    [['apply', '-auto-aprove'], `unknown option '-auto-aprove'; did you mean "--auto-approve"?`],
    [['plan', '-verbos'], `unknown option '-verbos'; did you mean "--verbose"?`],
  ])('get a hint: %j prints %s', async (args, sentence) => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await command(args, { cwd: folder.root });
    expect(code).toBe(64);
    expect(stderr.replace(/\s+/g, ' ')).toContain(sentence);
  });
});

describe('help', () => {
  const all = (parent: Command): readonly Command[] => parent.commands.flatMap((each) => [each, ...all(each)]);
  const paths = all(program).map(pathOf);

  it.each(paths)('has two valid examples of %s', async (name) => {
    const examples = examplesOf(name);
    expect(new Set(examples).size).toBe(2);
    await using folder = await temporaryFolder();
    await mkdir(path.join(folder.root, 'voices'));
    for (const example of examples) {
      const words = example.replace(/ > .*/, '').split(' ').slice(1);
      expect(words.join(' ').startsWith(name)).toBe(true);
      const parsing = await createProgram(async () => undefined, {
        words,
        output: { outputError() {} },
      });
      await expect(parsing.parseAsync(words, { from: 'user' })).resolves.toBeDefined();
    }
  });

  it.each(paths)('fits 80 columns and ends with the global flags in two lines: %s', async (name) => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await command(['help', ...name.split(' ')], { cwd: folder.root });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: voxform ${name} `));
    expect(stdout).toMatch(/\nExamples:\n {2}voxform .*\n {2}voxform .*\n\nGlobal flags:\n( {2}.*\n){1,2}$/);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    ['status', '--timeout <duration> Maximum wait of --wait-published (default: 10m)'],
    ['apply', '--lock-timeout <duration> How long to wait for the lock (default: 0s)'],
    ['watch', '--lock-timeout <duration> How long to wait for the lock (default: 30s)'],
    ['plan', '--output <format> Output format (text, json, markdown, html, github; default: text)'],
    ['export', '--out <dir> Folder to write, new or empty (required)'],
    ['migrate', '(manifests, live; default: manifests if any)'],
    ['diff', 'workspaces The two workspaces, unless -w names them'],
    ['state push', 'Resources missing from the file are no longer managed, and their records go on the orphan list.'],
    ['state', 'Commands: list List the addresses'],
  ])('of %s contains %s', async (name, words) => {
    await using folder = await temporaryFolder();
    const { stdout } = await command(['help', ...name.split(' ')], { cwd: folder.root });
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(words);
    expect(stdout).not.toContain('Tools:');
  });

  it('of schema lists every schema', async () => {
    await using folder = await temporaryFolder();
    const { stdout } = await command(['help', 'schema'], { cwd: folder.root });
    const { stderr } = await command(['schema', 'nope'], { cwd: folder.root });
    const names = stderr.match(/(?<=[:,]\s+)[\w-]+(?=[,.]\s)/g) ?? [];
    const kindNames = ['agent', 'phone-number', 'webhook', 'workspace-user'];
    expect(names).toEqual(expect.arrayContaining(kindNames));
    const words = stdout.split(/[\s,]+/);
    expect(names.filter((name) => !kindNames.includes(name) && !words.includes(name))).toEqual([]);
  });

  it('lists the commands in groups and the global flags last', async () => {
    await using folder = await temporaryFolder();
    const { stdout } = await command(['--help'], { cwd: folder.root });
    const headings = [...stdout.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([...new Set(headings)]);
    expect(headings.length).toBeGreaterThan(4);
    expect(headings.at(0)).toBe('Main commands');
    expect(headings.at(-1)).toBe('Global flags');
  });
});
