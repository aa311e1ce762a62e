import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { GithubHost, IDENTITY_REQUEST } from './github-host.ts';
import { sha256 } from './repository.ts';
import { copySources } from './source-copy.ts';
import { action, linesOf, root, written } from './workflow.ts';

interface Ended {
  readonly code: number;
  readonly text: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly folder: string;
}

/** Runs a script of the action in a new folder. */
async function run(script: string, env: Readonly<Record<string, string>>): Promise<Ended & AsyncDisposable> {
  const workFolder = await temporaryFolder();
  mkdirSync(path.join(workFolder.root, 'voices'));
  const file = path.join(root, 'ci/github', script);
  const options = {
    cwd: workFolder.root,
    env: {
      PATH: [path.dirname(process.execPath), process.env.PATH].join(path.delimiter),
      RUNNER_TEMP: workFolder.root,
      GITHUB_OUTPUT: path.join(workFolder.root, 'output'),
      GITHUB_ENV: path.join(workFolder.root, 'env'),
      GITHUB_PATH: path.join(workFolder.root, 'path'),
      ACTION_PATH: root,
      ...env,
    },
  };
  const { code, text } = await new Promise<Pick<Ended, 'code' | 'text'>>((resolve) =>
    execFile(file, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr }),
    ),
  );
  return {
    code,
    text,
    outputs: written(path.join(workFolder.root, 'output')),
    folder: workFolder.root,
    [Symbol.asyncDispose]: () => workFolder[Symbol.asyncDispose](),
  };
}

/** The environment of the step for omitted inputs. */
const defaults = {
  ...Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: text = '' }]) => [
      `INPUT_${name.toUpperCase().replaceAll('-', '_')}`,
      text,
    ]),
  ),
  INPUT_MODE: 'plan',
  PLAN_COMMIT: 'a'.repeat(40),
};

describe('the check of the inputs', () => {
  it('accepts valid inputs, prints the artifact name, and masks the key', async () => {
    const given = { INPUT_WORKSPACE: 'eu.west-1', INPUT_WORKING_DIRECTORY: 'voices', INPUT_API_KEY: 'a%key' };
    await using ended = await run('check-inputs.sh', { ...defaults, ...given });
    expect([ended.code, ended.text]).toEqual([0, '::add-mask::a%25key\n']);
    expect(ended.outputs).toEqual({
      'artifact-prefix': 'voxform-plan-eu.west-1+voices',
      artifact: `voxform-plan-eu.west-1+voices-${'a'.repeat(40)}`,
    });
  });

  it('names the plans of different workspaces and folders differently', async () => {
    await using short = await run('check-inputs.sh', {
      ...defaults,
      INPUT_WORKSPACE: 'staging',
      INPUT_WORKING_DIRECTORY: 'voices',
    });
    await using long = await run('check-inputs.sh', { ...defaults, INPUT_WORKSPACE: 'staging-voices' });
    expect([short.code, long.code]).toEqual([0, 0]);
    expect(short.outputs.artifact).not.toBe(long.outputs.artifact);
  });

  it.each([
    ['MODE', 'destroy', 'no such mode'],
    ['WORKSPACE', '--help', 'a flag'],
    ['WORKSPACE', 'a\n::set-env name=PATH::/tmp', 'a workflow command'],
    ['WORKSPACE', '$(touch pwned)', 'a command'],
    ['WORKING_DIRECTORY', '../other', 'a folder outside'],
    ['WORKING_DIRECTORY', '/etc', 'an absolute path'],
    ['WORKING_DIRECTORY', 'nowhere', 'a missing folder'],
    ['PLAN_FILE', '--out', 'a flag'],
    ['PLAN_FILE', 'a/../../b', 'a file outside'],
    ['FLAGS', '--target Agent/a\nAgent/b', 'a line that is not a flag'],
    ['VOXFORM', '1.2.3', 'a package name in a registry, which anyone may register'],
    ['VOXFORM', 'voxform-linux-x64', 'a file without its hash'],
    ['VOXFORM', `$(id)#sha256=${'a'.repeat(64)}`, 'a command'],
    ['COMMENT', 'yes', 'not a boolean'],
    ['RETENTION_DAYS', '0', 'a retention of no days'],
    ['PLAN_RUN_ID', '1;2', 'not an id'],
    ['STATE_SIGN_IN', 'gcp', 'a cloud without a backend'],
    ['API_KEY', 'two\nlines', 'a mask that only covers the first line'],
  ])('refuses %s=%j: %s', async (name, value) => {
    await using ended = await run('check-inputs.sh', { ...defaults, [`INPUT_${name}`]: value });
    expect(ended.code).toBe(1);
    expect(ended.text).toMatch(
      /^::error title=voxform::[a-z-]+ [^\n]*\n$|^[^\n]*cd: [^\n]*\n::error|^::error[^\n]*\n[^\n]*cd: /,
    );
    if (value.length > 2) expect(ended.text.replace(/.*cd: .*/, '')).not.toContain(value);
    expect(existsSync(path.join(ended.folder, 'pwned'))).toBe(false);
  });
});

describe('the sign-in to the store of the state', () => {
  it.each([
    ['aws', {}, 'id-token: write'],
    ['aws', { ACTIONS_ID_TOKEN_REQUEST_URL: 'http://127.0.0.1:1/?a=b', AWS_ROLE_ARN: 'r' }, 'AWS_REGION'],
    ['azure', { ACTIONS_ID_TOKEN_REQUEST_URL: 'http://127.0.0.1:1/?a=b' }, 'AZURE_CLIENT_ID'],
  ])('in %s with %j reports the missing %s', async (cloud, env, named) => {
    await using ended = await run('sign-in.sh', { INPUT_STATE_SIGN_IN: cloud, ...env });
    expect(ended.code).toBe(1);
    expect(ended.text).toMatch(/^::error title=voxform::.*\n$/);
    expect(ended.text).toContain(named);
  });

  it('gets a token for its audience in Azure, readable only by this user', async () => {
    await using host = await GithubHost.start();
    await using ended = await run('sign-in.sh', {
      INPUT_STATE_SIGN_IN: 'azure',
      AZURE_CLIENT_ID: 'client',
      AZURE_TENANT_ID: 'tenant',
      ACTIONS_ID_TOKEN_REQUEST_URL: `${host.url}/identity?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: IDENTITY_REQUEST,
    });
    expect([ended.code, ended.text]).toEqual([0, '']);
    const { AZURE_FEDERATED_TOKEN_FILE: file = '' } = written(path.join(ended.folder, 'env'));
    expect(readFileSync(file, 'utf8')).toBe('token-for-api://AzureADTokenExchange');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe('the installation', () => {
  it("builds the action's own sources once, with the packages of their lock file", { tags: ['long'] }, async () => {
    await using copy = await copySources();
    const env = {
      INPUT_VOXFORM: 'source',
      ACTION_PATH: copy.root,
      PATH: [copy.bin, path.dirname(process.execPath), process.env.PATH].join(path.delimiter),
    };
    for (let job = 0; job < 2; job += 1) {
      await using ended = await run('install.sh', env);
      expect(ended.code, ended.text).toBe(0);
      const bin = readFileSync(path.join(ended.folder, 'path'), 'utf8').trim();
      const example = path.join(root, 'examples', 'call-centre');
      const text = execFileSync(path.join(bin, 'voxform'), ['validate', '--chdir', example], { encoding: 'utf8' });
      expect(text).toContain('Valid');
    }
    const calls = readFileSync(path.join(copy.root, 'npm-calls'), 'utf8');
    expect(calls.trim().split('\n')).toEqual([expect.stringMatching(/^ci --ignore-scripts/)]);
  });

  it('installs an executable with a matching hash, and replaces a link of an earlier job', async () => {
    await using workFolder = await temporaryFolder({ 'my tools/exe': '#!/bin/sh\necho ran\n', 'my tools/other': '' });
    const temp = path.join(workFolder.root, 'my tools');
    symlinkSync('other', path.join(temp, 'voxform'));
    const env = { RUNNER_TEMP: temp, GITHUB_PATH: path.join(workFolder.root, 'path'), PATH: '/usr/bin:/bin' };
    const file = path.join(temp, 'exe');
    const hash = sha256(readFileSync(file, 'utf8'));
    await using taken = await run('install.sh', { ...env, INPUT_VOXFORM: `${file}#sha256=${hash}` });
    expect([taken.code, taken.text]).toEqual([0, '']);
    const [folder = ''] = linesOf(env.GITHUB_PATH);
    expect(execFileSync(path.join(folder, 'voxform'), { encoding: 'utf8' })).toBe('ran\n');
    expect(readFileSync(path.join(temp, 'other'), 'utf8')).toBe('');
    await using refused = await run('install.sh', { ...env, INPUT_VOXFORM: `${file}#sha256=${'a'.repeat(64)}` });
    expect(refused.code).toBe(1);
    expect(refused.text).toMatch(/^::error title=voxform::[^\n]*SHA256SUMS[^\n]*\n$/);
    expect(linesOf(env.GITHUB_PATH)).toEqual([folder]);
  });

  it('fails if the runner has no preinstalled voxform', async () => {
    const bare = { PATH: '/usr/bin:/bin', INPUT_VOXFORM: 'path' };
    await using ended = await run('install.sh', bare);
    expect([ended.code, ended.text]).toEqual([
      1,
      '::error title=voxform::there is no voxform on the path of this runner\n',
    ]);
  });
});

describe('every script of the kit', () => {
  it('has valid shell syntax', () => {
    for (const file of ['github/arguments.sh', 'github/apply.sh', 'github/plan.sh', 'github/validate.sh']) {
      execFileSync('bash', ['-n', path.join(root, 'ci', file)]);
    }
    for (const file of ['pre-commit.sh', 'install-source.sh']) execFileSync('sh', ['-n', path.join(root, 'ci', file)]);
  });
});
