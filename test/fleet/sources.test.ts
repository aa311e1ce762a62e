import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadFleetFile } from '../../src/fleet/fleet-file.ts';
import type { SourceContents, Sources } from '../../src/fleet/member.ts';
import { brokenProjects } from '../../src/fleet/members.ts';
import { GitProjects } from '../../src/fleet/sources/git-projects.ts';
import { openSources } from '../../src/fleet/sources/open-sources.ts';
import { parseGitAddress } from '../../src/git/git-address.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { readCredentials, selectWorkspace } from '../../src/project/select-workspace.ts';
import { Redactor } from '../../src/values/redactor.ts';
import { asOrdinaryUser } from '../as-ordinary-user.ts';
import { leaveFile, Remote } from '../operator/git-remote.ts';
import { GitServer } from '../state/backends/git/git-server.ts';
import { step } from '../step.ts';

const never = new AbortController().signal;

function projectText(id: string, more = ''): string {
  return `version: 1
workspaces:
  test: { base_url: https://platform.example, workspace_id: ${id}, api_key: { $secret: KEY } }
${more}`;
}

/** A fleet of one source, as one of several processes with the same folder opens it. */
function fleet(home: string, source: string, env: Record<string, string | undefined> = {}): Sources {
  const file = path.join(home, 'fleet.yaml');
  writeFileSync(
    file,
    `version: 1\nsources:\n  voices: ${source}\nworkspaces:\n  "*/acme:test": { mode: apply, interval: 1m }\n`,
  );
  return openSources({
    fleet: loadFleetFile(file, {}),
    home,
    env: { PATH: process.env.PATH, HOME: home, ...env },
    redactor: new Redactor(),
  });
}

const gitFleet = (remote: Remote, more = '', env = {}): Sources =>
  fleet(remote.watched, `{ git: ${remote.bare}, projects: ["clients/*"]${more} }`, env);

function addresses({ projects }: SourceContents): string[] {
  return projects.flatMap(({ members }) => members.map(({ address }) => address)).sort();
}

function versionsOf({ projects }: SourceContents): Record<string, string> {
  return Object.fromEntries(projects.map(({ project, version }) => [project, version]));
}

/** Returns the git subcommands of a trace. */
function gitRuns(trace: string): string[] {
  if (!existsSync(trace)) return [];
  return readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { event: string; argv?: string[]; sid: string })
    .filter(({ event, sid }) => event === 'start' && !sid.includes('/'))
    .map(({ argv = [] }) => argv.find((each, index) => index > 0 && /^[a-z][a-z-]*$/.test(each)) ?? '');
}

/** Creates a tree with the leaf at 10^10 paths. */
function endlessTree(remote: Remote, leaf: string): string {
  let tree = leaf;
  for (let levels = 0; levels < 10; levels++)
    tree = remote.tree(Array.from({ length: 10 }, (_, index) => `040000 tree ${tree}\tx${index}`));
  return tree;
}

/** Returns a PATH whose git records each name requested from `git cat-file`. */
function countingGit(remote: Remote, asked: string): string {
  const folder = path.join(remote.root, 'bin');
  mkdirSync(folder, { recursive: true });
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh\ncase "$*" in *cat-file*) tee -a '${asked}' | '${real}' "$@" ;; *) exec '${real}' "$@" ;; esac\n`;
  writeFileSync(path.join(folder, 'git'), script, { mode: 0o700 });
  return `${folder}${path.delimiter}${process.env.PATH}`;
}

describe('repository of projects', () => {
  it('is fetched once for all workspaces, and unchanged projects are neither parsed nor checked out again', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    const trace = path.join(remote.root, 'trace');
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    remote.push(Object.fromEntries(names.map((name) => [`clients/${name}/voxform.yaml`, projectText(name)])));
    const sources = gitFleet(remote, '', { GIT_TRACE2_EVENT: trace });
    const first = await sources.discover('voices', never);
    expect(addresses(first)).toHaveLength(12);
    expect(gitRuns(trace).filter((verb) => verb === 'fetch')).toHaveLength(1);
    expect(gitRuns(trace).length).toBeLessThan(8);
    for (const found of first.projects) await sources.checkout({ ...found, source: 'voices' }, never);
    rmSync(trace);

    const commit = remote.push({ 'clients/c3/manifests/a.yaml': '# more' });
    const second = await sources.discover('voices', never);
    const changed = names.filter(
      (name) => versionsOf(first)[`clients/${name}`] !== versionsOf(second)[`clients/${name}`],
    );
    expect([changed, second.commit]).toEqual([['c3'], commit]);
    for (const found of second.projects) await sources.checkout({ ...found, source: 'voices' }, never);
    const runs = gitRuns(trace);
    expect(runs.filter((verb) => verb === 'read-tree')).toHaveLength(1);
    expect(runs.filter((verb) => verb === 'fetch')).toHaveLength(1);
    expect(runs.filter((verb) => verb === 'cat-file')).toHaveLength(2);

    rmSync(trace);
    await sources.discover('voices', never);
    expect(gitRuns(trace)).toEqual(['fetch', 'rev-parse']);
  });

  it('fetches commits of requests at the same time', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'clients/acme/voxform.yaml': projectText('acme') });
    remote.git('config', 'uploadpack.allowAnySHA1InWant', 'true');
    const commits = Array.from({ length: 6 }, (_, index) => {
      const commit = remote.push({ 'clients/acme/manifests/a.yaml': `# ${index}` });
      remote.git('update-ref', `refs/pull/${index}/head`, commit);
      return commit;
    });
    const sources = gitFleet(remote);
    await sources.discover('voices', never);
    const found = await Promise.all(
      commits.flatMap((commit) => [sources.at('voices', commit, never), sources.discover('voices', never)]),
    );
    expect(new Set(found.map(({ projects }) => projects[0]?.version)).size).toBe(commits.length);
    for (const each of found) if ('close' in each) await each.close();
  });

  it.each([1, 10])(
    'does not fetch a commit of a request that is too large, in %i files',
    { tags: ['long'] },
    async (count) => {
      using remote = new Remote();
      remote.push({ 'clients/acme/voxform.yaml': projectText('acme') });
      remote.git('config', 'uploadpack.allowAnySHA1InWant', 'true');
      const base = remote.git('rev-parse', 'main');
      const files = Array.from({ length: count }, () => remote.blob(randomBytes(4_000_000 / count)));
      const head = remote.commit(remote.tree(files.map((blob, index) => `100644 blob ${blob}\tfile-${index}`)));
      remote.git('update-ref', 'refs/pull/1/head', head);
      remote.git('update-ref', 'refs/heads/main', base);
      const projects = new GitProjects({
        address: parseGitAddress(remote.bare, { cwd: '/', option: 'git' }),
        ref: 'main',
        projects: ['clients/*'],
        home: path.join(remote.watched, 'home'),
        env: { PATH: process.env.PATH },
        redact: String,
        maxCommitBytes: 1_000_000,
      });
      await (await projects.newest(never)).close();
      await expect(projects.at(head, never)).rejects.toBeInstanceOf(UserError);
      const sizes = readdirSync(path.join(remote.watched, 'home'), { recursive: true, encoding: 'utf8' }).map(
        (file) => statSync(path.join(remote.watched, 'home', file)).size,
      );
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_300_000);
    },
  );

  it('finds projects by pattern, with their rules', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({
      'voxform.yaml': projectText('root'),
      'clients/acme/voxform.yaml': projectText('acme'),
      'clients/acme/eu/voxform.yml': projectText('eu'),
      'clients/archive/old/voxform.yaml': projectText('old'),
      'clients/notes/readme.md': 'none',
      '.github/voxform.yaml': projectText('hidden'),
    });
    const found = async (projects: string) =>
      addresses(
        await fleet(remote.watched, `{ git: ${remote.bare}, projects: ${projects} }`).discover('voices', never),
      );
    expect(await found('["."]')).toEqual(['voices:test']);
    expect(await found('["clients/*"]')).toEqual(['voices/clients/acme:test']);
    expect(await found('["clients/**", "!clients/archive"]')).toEqual([
      'voices/clients/acme/eu:test',
      'voices/clients/acme:test',
    ]);
    expect(await found('["**"]')).toHaveLength(4);
    const contents = await gitFleet(remote, ', interval: 5s').discover('voices', never);
    expect(contents.projects[0]?.members).toMatchObject([
      { workspaceId: 'acme', baseUrl: 'https://platform.example', mode: 'apply', interval: 60_000 },
    ]);
    const none = await fleet(remote.watched, `{ git: ${remote.bare}, projects: ["kunden/*"] }`).discover(
      'voices',
      never,
    );
    expect([none.projects, none.warnings]).toEqual([[], ['no project of voices matches "kunden/*"']]);
  });

  it('omits projects that moved or were removed', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'clients/a/voxform.yaml': projectText('a'), 'clients/b/voxform.yaml': projectText('b') });
    const sources = gitFleet(remote);
    const first = await sources.discover('voices', never);
    remote.git('mv', 'clients/a', 'clients/z');
    remote.git('rm', '-r', '--quiet', 'clients/b');
    remote.push({});
    const second = await sources.discover('voices', never);
    expect([addresses(first), addresses(second)]).toEqual([
      ['voices/clients/a:test', 'voices/clients/b:test'],
      ['voices/clients/z:test'],
    ]);
    expect(versionsOf(second)['clients/z']).toBe(versionsOf(first)['clients/a']);
  });

  it('reports the error of a broken project, and none for the others', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.link({});
    remote.push({
      'clients/good/voxform.yaml': projectText('good'),
      'clients/bad/voxform.yaml': projectText('bad', 'guard: {}\n'),
      'clients/twice/voxform.yaml': projectText('a'),
      'clients/twice/voxform.yml': projectText('b'),
      'clients/state/voxform.yaml': projectText('s', 'state: { path: x.json }\n'),
    });
    mkdirSync(path.join(remote.root, 'work/clients/link'));
    remote.link({ 'clients/link/voxform.yaml': '../good/voxform.yaml' });
    remote.push({});
    const { projects } = await gitFleet(remote).discover('voices', never);
    expect(Object.fromEntries(projects.map(({ project, problem }) => [project.slice(8), problem]))).toEqual({
      good: undefined,
      bad: 'voxform.yaml:4:1  unknown field "guard"; did you mean "guards"?',
      twice: 'the folder has two project files, voxform.yaml and voxform.yml; delete one of them',
      link: 'voxform.yaml is a symbolic link; replace it with the file itself',
      state: expect.stringMatching(/^voxform\.yaml:4:8 {2}a fleet cannot use a local state for a project from Git/),
    });
  });

  it.each([
    {
      state: 'url: "postgres://voxform@embedded/fleet", schema: voxform_fleet, name: "voices/other:test"',
      isRefused: true,
    },
    { state: 'url: "postgres://x@embedded:5432/fleet", name: mine', isRefused: true },
    {
      state: 'url: "postgres://voxform@embedded/fleet", schema: voxform_fleet, name: "voices/clients/acme:{workspace}"',
      isRefused: false,
    },
    {
      state: 'url: "postgres://db.example/x", schema: voxform_fleet, name: "voices/other:test"',
      isRefused: true,
    },
    { state: 'url: { $env: UNSET }, schema: voxform_fleet, name: "voices/other:test"', isRefused: true },
    {
      state: 'url: "postgres://db.example/x", schema: voxform_fleet, name: "voices/clients/acme:test"',
      isRefused: false,
    },
    { state: 'url: "postgres://db.example/x", name: "voices/other:test"', isRefused: false },
  ])('prevents a project from using the state of another: $state', { tags: ['long'] }, async ({ state, isRefused }) => {
    using remote = new Remote();
    remote.push({
      'clients/acme/voxform.yaml': projectText('acme', `state: { backend: postgres, ${state} }\n`),
    });
    const { projects } = await gitFleet(remote).discover('voices', never);
    const refusal = "a project must not use the fleet's own database";
    expect([projects.length, projects[0]?.problem?.includes(refusal) ?? false, projects[0]?.members.length]).toEqual([
      1,
      isRefused,
      isRefused ? 0 : 1,
    ]);
  });

  it('finds the last valid versions after a restart, on this machine and on another', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'clients/acme/voxform.yaml': projectText('acme'), 'clients/acme/x': 'good' });
    const sources = gitFleet(remote);
    const [good] = (await sources.discover('voices', never)).projects;
    if (good === undefined) throw new Error('nothing was found');
    await sources.checkout({ ...good, source: 'voices' }, never);
    remote.push({ 'clients/acme/x': 'bad' });
    const [bad] = (await sources.discover('voices', never)).projects;
    await sources.keep('voices', new Set([good.version, bad?.version ?? '']), never);

    const textIn = async (opened: Sources, wanted = good): Promise<string> => {
      const { folder } = await opened.checkout({ ...wanted, source: 'voices' }, never);
      return readFileSync(path.join(folder, 'x'), 'utf8');
    };
    const git = path.join(remote.watched, '.voxform/git');
    const trees = () => readdirSync(git).flatMap((each) => readdirSync(path.join(git, each, 'trees')));
    await step('from its own repository while the server is down', async () => {
      for (const each of readdirSync(git)) rmSync(path.join(git, each, 'trees'), { recursive: true });
      renameSync(remote.bare, `${remote.bare}.away`);
      expect(await textIn(gitFleet(remote))).toBe('good');
      renameSync(`${remote.bare}.away`, remote.bare);
    });
    await step('from the server, by commit', async () => {
      rmSync(git, { recursive: true });
      expect(await textIn(gitFleet(remote))).toBe('good');
    });
    await step('the newest one if the server no longer has the commit', async () => {
      rmSync(git, { recursive: true });
      const gone = { ...good, version: 'a'.repeat(40), commit: 'b'.repeat(40) };
      expect(await textIn(gitFleet(remote), gone)).toBe('bad');
    });
    await step('unused versions are removed', async () => {
      const opened = gitFleet(remote);
      const { folder } = await opened.checkout({ ...good, source: 'voices' }, never);
      const before = trees();
      await opened.keep('voices', new Set(), never);
      expect(trees()).toEqual(before);
      utimesSync(folder, 0, 0);
      await opened.keep('voices', new Set(), never);
      expect(trees()).toEqual(before.filter((each) => each !== good.version));
    });
  });

  it('keeps many old versions with few processes, and stops when the process ends', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    const trace = path.join(remote.root, 'trace');
    const files = (content: string) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`clients/c${index}/voxform.yaml`, content + index]));
    remote.push(files(projectText('a', '# ')));
    const old = await gitFleet(remote).discover('voices', never);
    remote.push(files(projectText('b', '# ')));
    const sources = gitFleet(remote, '', { GIT_TRACE2_EVENT: trace });
    await sources.discover('voices', never);
    rmSync(trace);
    const versions = new Set(Object.values(versionsOf(old)));
    await sources.keep('voices', versions, never);
    expect(gitRuns(trace).length).toBeLessThan(6);
    const repository = execFileSync('find', [remote.watched, '-name', 'kept'], { encoding: 'utf8' }).trim();
    expect(new Set(readdirSync(repository))).toEqual(versions);
    await expect(sources.keep('voices', new Set(), AbortSignal.abort('stopping'))).rejects.toBe('stopping');
  });

  it('reports the error if it cannot be fetched', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'clients/acme/voxform.yaml': projectText('acme') });
    const sources = gitFleet(remote);
    await sources.discover('voices', never);
    renameSync(remote.bare, `${remote.bare}.away`);
    await expect(sources.discover('voices', never)).rejects.toThrow(/^git fetch: .*remote\.git/);
    renameSync(`${remote.bare}.away`, remote.bare);
    expect(addresses(await sources.discover('voices', never))).toEqual(['voices/clients/acme:test']);
  });

  it('limits the size of a hostile project, and reports only that project', { tags: ['long'] }, async () => {
    using remote = new Remote();
    const file = remote.blob(projectText('x'));
    const project = (...more: string[]) => remote.tree([`100644 blob ${file}\tvoxform.yaml`, ...more]);
    const leaf = remote.tree([`100644 blob ${file}\ta`]);
    const deep = remote.push({ [`x/${'d/'.repeat(101)}a`]: '' });
    const mebibyte = remote.blob(Buffer.alloc(1024 * 1024, '#'));
    const files = Array.from({ length: 65 }, (_, index) => `100644 blob ${mebibyte}\tb${index}`);
    const names: Record<string, string> = {
      bomb: project(`040000 tree ${endlessTree(remote, leaf)}\tmanifests`),
      deep: project(`040000 tree ${remote.git('rev-parse', `${deep}:x`)}\tmanifests`),
      good: project(),
      heavy: project(`040000 tree ${remote.tree(files)}\tmanifests`),
      large: remote.tree([`100644 blob ${remote.blob(Buffer.alloc(40_000_000, '#'))}\tvoxform.yaml`]),
    };
    const clients = Object.entries(names).map(([name, tree]) => `040000 tree ${tree}\t${name}`);
    remote.commit(remote.tree([`040000 tree ${remote.tree(clients)}\tclients`]));
    const asked = path.join(remote.root, 'asked');
    const sources = gitFleet(remote, '', { PATH: countingGit(remote, asked) });
    const found = await sources.discover('voices', never);
    const problems = Object.fromEntries(found.projects.map((each) => [each.project.slice(8), each.problem]));
    expect(problems).toEqual({
      bomb: 'it has more than 10000 files and folders',
      deep: 'it has folders more than 100 levels deep',
      good: undefined,
      heavy: 'its files have more than 64 MiB in total',
      large: 'voxform.yaml has 40000000 bytes, more than 1 MiB (1048576)',
    });
    expect(addresses(found)).toEqual(['voices/clients/good:test']);
    const reads = readFileSync(asked, 'utf8').split('\n').length;
    expect(reads).toBeLessThan(1000);
    for (const { project: name, problem, ...version } of found.projects) {
      if (problem === undefined) continue;
      const checkout = sources.checkout({ ...version, project: name, source: 'voices' }, never);
      await expect(checkout).rejects.toThrow(`${name} of main of ${remote.bare} cannot be used: ${problem}`);
    }
    const git = path.join(remote.watched, '.voxform/git');
    expect(readdirSync(git).flatMap((each) => readdirSync(path.join(git, each)))).not.toContain('trees');
  });

  it('limits the search for projects in endless folders, and finds those of other folders', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    const file = remote.blob(projectText('x'));
    const good = remote.tree([`100644 blob ${file}\tvoxform.yaml`]);
    const endless = endlessTree(remote, good);
    const clients = remote.tree([`040000 tree ${endless}\tendless`, `040000 tree ${good}\tgood`]);
    remote.commit(remote.tree([`040000 tree ${clients}\tclients`]));
    const asked = path.join(remote.root, 'asked');
    const open = (projects: string) =>
      fleet(remote.watched, `{ git: ${remote.bare}, projects: ${projects} }`, {
        PATH: countingGit(remote, asked),
      });
    const found = await open('["clients/**"]').discover('voices', never);
    expect(addresses(found)).toEqual(['voices/clients/good:test']);
    expect(found.projects.filter(({ problem }) => problem !== undefined)).toMatchObject([
      { project: 'clients/endless', isUnknown: true, problem: expect.stringContaining('20000 folders') },
    ]);
    expect(readFileSync(asked, 'utf8').split('\n').length).toBeLessThan(1000);
    const excluded = await open('["clients/**", "!clients/endless"]').discover('voices', never);
    expect(excluded.projects.map(({ problem }) => problem)).toEqual([undefined]);
  });

  it('aborts a fetch when nobody waits for it, and not before', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'clients/acme/voxform.yaml': projectText('acme') });
    await using server = await GitServer.start(remote.root);
    const url = server.address('remote.git');
    const sources = fleet(remote.watched, `{ git: "${url}", projects: ["clients/*"] }`);
    const hold = () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.held = promise;
      return resolve;
    };
    const [first, second] = [new AbortController(), new AbortController()];
    const outcomeOf = (looking: Promise<SourceContents>) => looking.then(addresses, () => 'ended');

    const release = hold();
    const ended = outcomeOf(sources.discover('voices', first.signal));
    const other = outcomeOf(sources.discover('voices', never));
    await expect.poll(() => server.requests.length).toBe(1);
    first.abort('over');
    expect(await ended).toBe('ended');
    release();
    expect(await other).toEqual(['voices/clients/acme:test']);
    expect(server.abandoned).toBe(0);

    const releaseAll = hold();
    const count = server.requests.length;
    const alone = outcomeOf(sources.discover('voices', second.signal));
    await expect.poll(() => server.requests.length).toBe(count + 1);
    second.abort('over');
    expect(await alone).toBe('ended');
    await expect.poll(() => server.abandoned).toBe(1);
    const next = outcomeOf(sources.discover('voices', never));
    releaseAll();
    expect(await next).toEqual(['voices/clients/acme:test']);
  });

  it('fetches again after an aborted or killed fetch', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'clients/a/voxform.yaml': projectText('a') });
    const [hook, held, config] = ['hook', 'held', 'config'].map((name) => path.join(remote.root, name));
    if (hook === undefined || held === undefined || config === undefined) throw new Error('no paths');
    writeFileSync(hook, `#!/bin/sh\n[ -e ${held} ] && exec sleep 600\nexec "$@"\n`, { mode: 0o700 });
    writeFileSync(config, `[uploadpack]\n\tpackObjectsHook = ${hook}\n`);
    const sources = gitFleet(remote, '', { GIT_CONFIG_GLOBAL: config });
    const found = async () => addresses(await sources.discover('voices', never));
    await found();
    const lock = path.join(remote.fetched, 'shallow.lock');

    remote.push({ 'clients/b/voxform.yaml': projectText('b') });
    writeFileSync(held, '');
    const stop = new AbortController();
    const ended = sources.discover('voices', stop.signal).catch(String);
    await expect.poll(() => existsSync(lock)).toBe(true);
    stop.abort('over');
    await ended;
    rmSync(held);
    await expect.poll(() => existsSync(lock)).toBe(false);
    expect(await found()).toEqual(['voices/clients/a:test', 'voices/clients/b:test']);

    remote.push({ 'clients/c/voxform.yaml': projectText('c') });
    leaveFile(lock);
    expect(await found()).toContain('voices/clients/c:test');
  });

  it('leaves no file if a checkout fails or is aborted', { tags: ['long'] }, async () => {
    using remote = new Remote();
    const blob = remote.blob(projectText('acme'));
    const files = Array.from({ length: 5000 }, (_, index) => `100644 blob ${blob}\tx${index}`);
    const large = remote.tree([`100644 blob ${blob}\tvoxform.yaml`, ...files]);
    const hostile = remote.tree([`100644 blob ${blob}\tvoxform.yaml`, `100644 blob ${blob}\t.git`]);
    const clients = remote.tree([`040000 tree ${hostile}\thostile`, `040000 tree ${large}\tlarge`]);
    remote.commit(remote.tree([`040000 tree ${clients}\tclients`]));
    const sources = gitFleet(remote);
    const { projects } = await sources.discover('voices', never);
    const wanted = (name: string) => {
      const found = projects.find(({ project }) => project === `clients/${name}`);
      if (found === undefined) throw new Error(`${name} was not found`);
      return { ...found, source: 'voices' };
    };
    const git = path.join(remote.watched, '.voxform/git');
    const entries = () => readdirSync(git, { recursive: true, encoding: 'utf8' });
    await expect(sources.checkout(wanted('hostile'), never)).rejects.toThrow(/invalid path/);
    const stop = new AbortController();
    const ended = sources.checkout(wanted('large'), stop.signal).catch(String);
    await expect.poll(() => entries().some((name) => /index[^/]*\.lock$/.test(name)), { interval: 1 }).toBe(true);
    stop.abort('over');
    expect(await ended).toContain('cancelled');
    expect(entries().filter((name) => /index|partial/.test(name) && !name.includes('repository'))).toEqual([]);
  });

  it('reveals the secrets of a project only to that project', { tags: ['long'] }, async () => {
    using remote = new Remote();
    const secrets = path.join(remote.root, 'secrets');
    const withDir = (folder: string) =>
      projectText('x').replace('api_key', `secrets_dir: ${JSON.stringify(folder)}, api_key`);
    remote.push({
      'clients/acme/voxform.yaml': projectText('acme'),
      'clients/own/voxform.yaml': withDir('production'),
      'clients/thief/voxform.yaml': withDir(path.join(secrets, 'clients/acme')),
      'clients/link/voxform.yaml': withDir('link'),
      'clients/voxform.yaml': withDir('acme'),
      'voxform.yaml': withDir('../clients/acme'),
    });
    mkdirSync(path.join(secrets, 'clients/acme'), { recursive: true });
    mkdirSync(path.join(secrets, 'clients/link'), { recursive: true });
    symlinkSync('../acme', path.join(secrets, 'clients/link/link'));
    const problemsOf = async (sources: Sources, source: string) =>
      Object.fromEntries(
        (await sources.discover(source, never)).projects.map(({ project, problem = '' }) => [
          project,
          /outside|is for the secrets of [^;]*/.exec(problem)?.[0] ?? problem,
        ]),
      );
    const git = `git: ${remote.bare}, secrets: "${secrets}/{project}"`;
    const sources = fleet(
      remote.watched,
      `{ ${git}, projects: ["clients", "clients/*"] }\n  root: { ${git} }\n  bare: { git: ${remote.bare}, projects: ["clients/own"] }`,
    );
    expect(await problemsOf(sources, 'voices')).toEqual({
      clients: 'is for the secrets of voices/clients/acme',
      'clients/acme': '',
      'clients/link': 'outside',
      'clients/own': '',
      'clients/thief': 'outside',
    });
    expect(await problemsOf(sources, 'root')).toEqual({ '.': 'outside' });
    expect(await problemsOf(sources, 'bare')).toEqual({
      'clients/own': expect.stringContaining('set secrets of the source bare'),
    });
    const folderOf = (source: string, project: string) => sources.local(source, project).secrets?.folder;
    expect(folderOf('voices', 'clients/acme')).toBe(path.join(secrets, 'clients/acme'));
    expect(folderOf('root', '.')).toBe(path.join(secrets, '.root'));

    const twice = fleet(
      remote.watched,
      `{ ${git}, projects: ["clients/*"] }\n  other: { git: ${remote.bare}, ref: other, secrets: "${secrets}/{project}", projects: ["*/acme"] }`,
    );
    expect(await problemsOf(twice, 'voices')).toMatchObject({
      'clients/acme': 'is for the secrets of other/clients/acme',
      'clients/own': '',
    });
  });
});

describe('secrets of a source', () => {
  it('come from the list of the fleet file, whose commands run in its folder', async () => {
    using remote = new Remote();
    remote.push({
      'clients/acme/voxform.yaml': projectText('acme'),
      'clients/acme/get': '#!/bin/sh\necho of the repository\n',
    });
    const folder = path.join(remote.watched, 'secrets/voices/clients/acme');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'IN_FOLDER'), 'in the folder\n');
    writeFileSync(path.join(remote.watched, 'get'), '#!/bin/sh\necho "$1 of $2 in $3"\n', { mode: 0o755 });
    const list =
      '[{ command: ["./get", "{name}", "{project}", "{workspace}"], names: [PRINTED] }, { folder: "secrets/{source}/{project}" }]';
    const sources = fleet(remote.watched, `{ git: ${remote.bare}, projects: ["clients/*"], secrets: ${list} }`);
    const { projects } = await sources.discover('voices', never);
    expect(projects).toMatchObject([{ project: 'clients/acme', problem: undefined }]);
    const root = path.join(remote.root, 'checkout');
    mkdirSync(root);
    writeFileSync(path.join(root, 'voxform.yaml'), projectText('acme'));
    const local = sources.local('voices', 'clients/acme');
    const env = { PATH: process.env.PATH ?? '', OF_THE_FLEET: 'not in the list' };
    const { workspaces } = await loadProject({ cwd: root, env, local });
    const [workspace] = Object.values(workspaces);
    const names = ['PRINTED', 'IN_FOLDER', 'OF_THE_FLEET'];
    await workspace?.secrets.read(names);
    expect(
      names.map((name) => workspace?.secrets.problem(name)?.code ?? workspace?.secrets.named(name).reveal()),
    ).toEqual(['PRINTED of acme in test', 'in the folder', 'missing-secret']);
  });

  it('are printed by commands of a project only if the source allows them', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ 'voxform.yaml': `${projectText('acme')}\nsecrets: [{ command: ["./get", "{name}"] }]\n` });
    const problemWith = async (more: string) => {
      const sources = fleet(remote.watched, `{ git: ${remote.bare}${more} }`);
      return (await sources.discover('voices', never)).projects[0]?.problem;
    };
    expect(await problemWith('')).toContain('must not run commands');
    expect(await problemWith(', allow_commands: true')).toBeUndefined();
  });
});

describe('folder of projects', () => {
  const folderFleet = (remote: Remote): Sources => fleet(remote.watched, '{ path: voices, projects: ["clients/*"] }');
  const write = (remote: Remote, name: string, text: string): void => {
    const file = path.join(remote.watched, 'voices', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  };

  it.each(['*', '**'])(
    'shows projects in folders with unusable names as broken: %s',
    { tags: ['long'] },
    async (pattern) => {
      using remote = new Remote();
      const long = `${'x'.repeat(200)}/${'y'.repeat(200)}/${'z'.repeat(200)}`;
      const names = ['ok', 'one\ntwo', 'tab\there', ...(pattern === '**' ? [long] : [])];
      const files = names.map((name) => [`${name}/voxform.yaml`, projectText('a')]);
      for (const [name = '', text = ''] of files) write(remote, name, text);
      remote.push(Object.fromEntries(files));
      for (const place of ['path: voices', `git: ${remote.bare}`]) {
        const found = await fleet(remote.watched, `{ ${place}, projects: ["${pattern}"] }`).discover('voices', never);
        expect(addresses(found)).toEqual(['voices/ok:test']);
        expect(brokenProjects(found)).toEqual([
          { project: 'voices/one\\u000atwo', problem: expect.stringContaining('line break') },
          { project: 'voices/tab\\u0009here', problem: expect.stringContaining('unprintable') },
          ...(pattern === '**'
            ? [
                {
                  project: expect.stringMatching(/^voices\/x{200}\/y/),
                  problem: expect.stringContaining('602 bytes'),
                },
              ]
            : []),
        ]);
      }
    },
  );

  it("reveals the secrets in a project's folder only to that project", async () => {
    using remote = new Remote();
    const withDir = (name: string, folder = 'secrets') =>
      write(remote, name, projectText('x').replace('api_key', `secrets_dir: ${folder}, api_key`));
    withDir('voxform.yaml', 'clients/acme/secrets');
    withDir('clients/acme/voxform.yaml');
    withDir('clients/thief/voxform.yaml');
    for (const name of ['clients/acme', 'clients/thief']) write(remote, `${name}/manifests/none.txt`, '');
    write(remote, 'clients/acme/secrets/KEY', 'key-of-acme');
    mkdirSync(path.join(remote.watched, 'voices/clients/thief/secrets'));
    symlinkSync('../../acme/secrets/KEY', path.join(remote.watched, 'voices/clients/thief/secrets/KEY'));
    const apart = folderFleet(remote);
    const { projects } = await apart.discover('voices', never);
    const keys = await Promise.all(
      projects.map(async ({ project }) => {
        const cwd = path.join(remote.watched, 'voices', project);
        const loaded = await loadProject({ cwd, env: {}, local: apart.local('voices', project) });
        const workspace = selectWorkspace(loaded, { name: undefined, env: {} });
        return readCredentials([workspace]).then(() => workspace.apiKey.reveal(), String);
      }),
    );
    expect(keys).toEqual([
      'key-of-acme',
      expect.stringContaining('KEY is a symbolic link that points outside secrets_dir'),
    ]);
    const inOne = fleet(remote.watched, '{ path: voices, projects: [".", "clients/acme"] }');
    expect((await inOne.discover('voices', never)).projects.map(({ problem }) => problem)).toEqual([
      expect.stringContaining('is in the folder of voices/clients/acme, which can read it'),
      expect.stringContaining('is in the folder of voices, which can read it; set secrets of voices'),
    ]);
  });

  it('has a version that changes only with its files, and copies that are read-only', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    write(remote, 'clients/acme/voxform.yaml', projectText('acme'));
    write(remote, 'clients/acme/manifests/a.yaml', 'one');
    write(remote, 'clients/other/voxform.yaml', projectText('other'));
    symlinkSync('acme', path.join(remote.watched, 'voices/clients/link'));
    const sources = folderFleet(remote);
    const first = await sources.discover('voices', never);
    expect(addresses(first)).toEqual(['voices/clients/acme:test', 'voices/clients/other:test']);
    const [acme] = first.projects;
    if (acme === undefined) throw new Error('nothing was found');
    const one = await sources.checkout({ ...acme, source: 'voices' }, never);

    write(remote, 'clients/acme/manifests/a.yaml', 'two');
    const second = await sources.discover('voices', never);
    expect(versionsOf(second)['clients/acme']).not.toBe(acme.version);
    expect(versionsOf(second)['clients/other']).toBe(versionsOf(first)['clients/other']);
    expect(versionsOf(await folderFleet(remote).discover('voices', never))).toEqual(versionsOf(second));
    expect(readFileSync(path.join(one.folder, 'manifests/a.yaml'), 'utf8')).toBe('one');
    const again = await folderFleet(remote).checkout({ ...acme, source: 'voices' }, never);
    expect(again).toEqual(one);

    write(remote, 'clients/acme/manifests/a.yaml', 'one');
    expect(versionsOf(await sources.discover('voices', never))).toEqual(versionsOf(first));
    write(remote, 'clients/acme/manifests/b.yaml', 'more');
    expect(versionsOf(await sources.discover('voices', never))).not.toEqual(versionsOf(first));
    rmSync(path.join(remote.watched, 'voices/clients/acme/manifests/b.yaml'));
    expect(versionsOf(await sources.discover('voices', never))).toEqual(versionsOf(first));
  });

  it('keeps an unreadable project, and gives the reason', async () => {
    using remote = new Remote();
    for (const name of ['acme', 'other']) {
      write(remote, `clients/${name}/voxform.yaml`, projectText(name));
      write(remote, `clients/${name}/manifests/a.yaml`, name);
    }
    chmodSync(path.join(remote.watched, 'voices/clients/acme/manifests/a.yaml'), 0);
    const module = path.join(import.meta.dirname, '../../src/fleet/sources/folder-projects.ts');
    const script = `const { FolderProjects } = await import(${JSON.stringify(module)});
const [folder, home] = process.argv.slice(1);
const { projects } = await new FolderProjects({ folder, projects: ['**'], home }).newest(new AbortController().signal);
console.log(JSON.stringify(projects.map(({ project, problem }) => [project, problem ?? null])));`;
    const folders = [path.join(remote.watched, 'voices'), path.join(remote.watched, 'home')];
    const [file = '', ...args] = [...asOrdinaryUser, process.execPath, '--input-type=module', '-e', script, ...folders];
    expect(JSON.parse(execFileSync(file, args, { encoding: 'utf8' }))).toEqual([
      ['clients/acme', 'the project cannot be read: permission denied'],
      ['clients/other', null],
    ]);
  });

  it('reports anything other than a file in place of a project file', async () => {
    using remote = new Remote();
    write(remote, 'clients/acme/voxform.yaml', projectText('acme'));
    const pipe = path.join(remote.watched, 'voices/clients/acme/voxform.yaml');
    rmSync(pipe);
    execFileSync('mkfifo', [pipe]);
    const { projects } = await folderFleet(remote).discover('voices', never);
    expect(projects[0]?.problem).toBe('voxform.yaml is not a regular file; replace it with one');
  });

  it('limits the size of a project, and reports only that project', { tags: ['long'] }, async () => {
    using remote = new Remote();
    for (const name of ['good', 'large', 'many']) write(remote, `clients/${name}/voxform.yaml`, projectText(name));
    truncateSync(path.join(remote.watched, 'voices/clients/large/voxform.yaml'), 3_000_000_000);
    for (let index = 0; index < 10_001; index++) write(remote, `clients/many/x${index}`, '');
    const sources = folderFleet(remote);
    const found = await sources.discover('voices', never);
    expect(Object.fromEntries(found.projects.map((each) => [each.project.slice(8), each.problem]))).toEqual({
      good: undefined,
      large: 'voxform.yaml has 3000000000 bytes, more than 1 MiB (1048576)',
      many: 'it has more than 10000 files and folders',
    });
    expect(addresses(found)).toEqual(['voices/clients/good:test']);
    expect(versionsOf(await folderFleet(remote).discover('voices', never))).toEqual(versionsOf(found));
    const large = found.projects.find(({ project }) => project === 'clients/large');
    if (large === undefined) throw new Error('it was not found');
    await expect(sources.checkout({ ...large, source: 'voices' }, never)).rejects.toThrow(/^clients\/large of/);
  });

  it('reports only the project whose names are too long for a database index', async () => {
    using remote = new Remote();
    const deep = `clients/${Array.from({ length: 3 }, () => '\u4e00'.repeat(56)).join('/')}`;
    write(remote, 'clients/good/voxform.yaml', projectText('good'));
    write(remote, `${deep}/voxform.yaml`, projectText('deep'));
    write(remote, 'clients/id/voxform.yaml', projectText('x'.repeat(256)));
    const url = `https://${'x'.repeat(500)}.example`;
    write(remote, 'clients/url/voxform.yaml', projectText('url').replace('https://platform.example', url));
    const found = await fleet(remote.watched, '{ path: voices, projects: ["clients/**"] }').discover('voices', never);
    expect(Object.fromEntries(found.projects.map((each) => [each.project, each.problem]))).toEqual({
      'clients/good': undefined,
      [deep]: 'the project path has 514 bytes; the maximum is 500',
      'clients/id': expect.stringMatching(/^voxform\.yaml:3:\d+ .*255/),
      'clients/url': expect.stringMatching(/^voxform\.yaml:3:\d+ .*500/),
    });
    expect(addresses(found)).toEqual(['voices/clients/good:test']);
  });

  it('returns the newest files if a version is gone, and reports missing ones', async () => {
    using remote = new Remote();
    write(remote, 'clients/acme/voxform.yaml', projectText('acme'));
    const sources = folderFleet(remote);
    const [acme] = (await sources.discover('voices', never)).projects;
    if (acme === undefined) throw new Error('nothing was found');
    const wanted = { ...acme, source: 'voices', version: 'a'.repeat(40) };
    expect((await sources.checkout(wanted, never)).version).toBe(acme.version);
    rmSync(path.join(remote.watched, 'voices'), { recursive: true });
    await expect(sources.discover('voices', never)).rejects.toThrow(/cannot open the folder .*voices/);
    await expect(sources.checkout({ ...wanted, version: 'b'.repeat(40) }, never)).rejects.toThrow(/cannot open/);
  });
});

describe('overlapping projects', () => {
  const refusals = ({ projects }: SourceContents) =>
    Object.fromEntries(projects.flatMap(({ members }) => members.map(({ address, refused }) => [address, refused])));

  it('are refused if the manifests of one include those of a project in its folder', { tags: ['long'] }, async () => {
    using remote = new Remote();
    const files = {
      'clients/acme/voxform.yaml': projectText('acme', 'manifests: ["**/*.yaml"]'),
      'clients/acme/eu/voxform.yaml': projectText('eu'),
      'clients/acme/eu/manifests/a.yaml': '# none',
      'clients/beta/voxform.yaml': projectText('beta'),
      'clients/beta/eu/voxform.yaml': projectText('beta-eu'),
      'clients/beta/eu/manifests/a.yaml': '# none',
    };
    remote.push(files);
    const sources = fleet(remote.watched, `{ git: ${remote.bare}, projects: ["clients/**"] }`);
    const why = 'the manifests of voices/clients/acme include those of voices/clients/acme/eu; neither runs';
    const expected = {
      'voices/clients/acme:test': why,
      'voices/clients/acme/eu:test': why,
      'voices/clients/beta:test': undefined,
      'voices/clients/beta/eu:test': undefined,
    };
    expect(refusals(await sources.discover('voices', never))).toEqual(expected);
    remote.push({ 'clients/beta/readme.md': 'more' });
    expect(refusals(await sources.discover('voices', never))).toEqual(expected);
    remote.push({ 'clients/acme/voxform.yaml': projectText('acme') });
    expect(Object.values(refusals(await sources.discover('voices', never)))).toEqual(Array(4).fill(undefined));
  });

  it('are refused if the manifests of one include those of a project of another source, which runs', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    remote.push({
      'clients/acme/voxform.yaml': projectText('acme', 'manifests: ["**/*.yaml"]'),
      'clients/acme/eu/voxform.yaml': projectText('eu'),
      'clients/acme/eu/manifests/a.yaml': '# none',
    });
    const work = path.join(remote.root, 'work');
    const both = [
      [`{ git: ${remote.bare}, projects: ["clients/*"] }`, `{ git: ${remote.bare}, projects: ["**/eu"] }`],
      [`{ path: ${work}, projects: ["clients/*"] }`, `{ path: ${work}/clients/acme, projects: ["eu"] }`],
    ];
    for (const [index, [outer, inner]] of both.entries()) {
      const sources = fleet(remote.watched, `${outer}\n  other: ${inner}`);
      const eu = index === 0 ? 'other/clients/acme/eu' : 'other/eu';
      expect(refusals(await sources.discover('voices', never))).toEqual({
        'voices/clients/acme:test': `the manifests of voices/clients/acme include those of ${eu}`,
      });
      expect(refusals(await sources.discover('other', never))).toEqual({ [`${eu}:test`]: undefined });
    }
  });

  it('are refused if two sources contain the same project, with the address in each source', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    remote.push({
      'clients/acme/voxform.yaml': projectText('acme'),
      'clients/beta/voxform.yaml': projectText('beta'),
    });
    const work = path.join(remote.root, 'work');
    const two = [
      [`{ git: ${remote.bare}, projects: ["clients/*"] }`, `{ git: ${remote.bare}, projects: ["*/acme"] }`],
      [`{ path: ${work}, projects: ["clients/*"] }`, `{ path: ${work}/clients, projects: ["acme"] }`],
    ];
    for (const [index, [one, other]] of two.entries()) {
      const sources = fleet(remote.watched, `${one}\n  other: ${other}`);
      const [ours, theirs] = ['voices/clients/acme', index === 0 ? 'other/clients/acme' : 'other/acme'];
      expect(refusals(await sources.discover('voices', never))).toEqual({
        'voices/clients/acme:test': `${ours} and ${theirs} are the same project; neither runs`,
        'voices/clients/beta:test': undefined,
      });
      expect(refusals(await sources.discover('other', never))).toEqual({
        [`${theirs}:test`]: `${theirs} and ${ours} are the same project; neither runs`,
      });
    }
  });
});
