import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyDocument } from '../../../../src/state/fold.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import { LostLock } from '../../../../src/state/state-errors.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { leaveFile } from '../../../operator/git-remote.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { type Fault, GitServer, git, newBare, newRepository } from './git-server.ts';
import { Machine, type MachineOptions, scratch } from './machine.ts';

const REF = 'refs/voxform/test';
const recorded = () => sessionOptions({ lock: lockRequest({ isStep: false }) });

/** Creates a repository, and machines that have its path as `origin`. */
function shared(origin = newBare(path.join(scratch(), 'voice.git'))) {
  return { bare: origin, machine: (options?: MachineOptions) => new Machine({ origin, ...options }) };
}

/** Creates the same on a server that counts requests and can fail. */
async function served() {
  const folder = scratch();
  const bare = newBare(path.join(folder, 'voice.git'));
  const server = await GitServer.start(folder);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { ...shared(server.address('voice.git')), bare, server };
}

/** Simulates a run that creates resources at once, each with an intent and an outcome. */
async function run(store: StateStore, names: readonly string[]): Promise<void> {
  const session = await openSession(store, recorded());
  try {
    await Promise.all(names.map((name) => session.record(creating(name))));
    await Promise.all(names.map((name) => session.record(saved(name))));
  } finally {
    await session.close();
  }
}

const resourcesOf = async (store: StateStore) =>
  [...(await readState(store, sessionOptions())).resources.keys()].sort();

describe('state in a Git ref', () => {
  it('is one commit for each write, on top of the last one, and costs one request if nothing changed', {
    tags: ['long'],
  }, async () => {
    const { bare, server, machine } = await served();
    const [here, there] = [machine(), machine()];
    await run(here.store(), ['a', 'b', 'c']);
    expect(server.pushes).toBe(5);
    expect(git(bare, 'log', '--format=%an: %s', REF).split('\n')).toEqual([
      'voxform: apply: end',
      'voxform: apply: 3 entries',
      'voxform: apply: 3 entries',
      'voxform: apply: state',
      'voxform: apply: lock',
    ]);
    expect(git(bare, 'ls-tree', '--name-only', REF).split('\n')).toEqual(['history.jsonl', 'state.json']);
    expect(git(bare, 'ls-tree', '--name-only', `${REF}~1`).split('\n')).toEqual([
      'history.jsonl',
      'journal.jsonl',
      'lock.json',
      'state.json',
    ]);
    expect(await resourcesOf(there.store())).toHaveLength(3);
    server.requests.length = 0;
    expect(await resourcesOf(there.store())).toHaveLength(3);
    // The response to `ls-remote`, in the two requests of its protocol.
    expect(server.requests).toEqual([
      'GET /voice.git/info/refs?service=git-upload-pack',
      'POST /voice.git/git-upload-pack',
    ]);
    expect((await there.store().history()).map(({ result }) => result)).toEqual(['done']);
  });

  it('reports immediately that the remote repository is damaged', { tags: ['long'] }, async () => {
    const { bare, machine } = shared();
    await run(machine().store(), ['a']);
    const id = git(bare, 'rev-parse', `${REF}:state.json`).trim();
    const object = path.join(bare, 'objects', id.slice(0, 2), id.slice(2));
    rmSync(object);
    writeFileSync(object, 'damaged');
    const { message, hint } = await failureOf(machine().store().read());
    expect(message).toContain('the repository at the remote origin is damaged');
    expect(hint).toContain('git fsck');
  });

  it('reports a state of the same workspace in neighboring refs', { tags: ['long'] }, async () => {
    const { bare, machine } = shared();
    const here = machine();
    const tree = git(bare, 'hash-object', '-t', 'tree', '-w', '/dev/null');
    git(bare, 'update-ref', 'refs/voxform/foreign', git(bare, 'commit-tree', '-m', 'x', tree));
    const elsewhere = (ref: string) => machine().store({ ref }).findOther?.('W1');
    const [branch, template] = ['refs/heads/state/old', 'refs/heads/state/{workspace}'];
    await run(here.store({ ref: branch }), ['a', 'b']);
    expect(await elsewhere(REF)).toBeUndefined();
    expect(await elsewhere(template)).toEqual({
      location: `${branch} of origin`,
      from: `{ backend: git, ref: ${branch} }`,
      records: 2,
    });
    await run(here.store(), ['c']);
    expect(await elsewhere('refs/voxform/{workspace}')).toBeUndefined();
    expect(await elsewhere('refs/voxform/new')).toMatchObject({ location: `${REF} of origin`, records: 1 });
    expect(await machine().store({ ref: 'refs/voxform/new' }).findOther?.('W2')).toBeUndefined();
    const lease = await here.store().lock(lockRequest());
    const { document } = await lease.read();
    const { lineage = '', serial = 0 } = document ?? {};
    await lease.leaveMark({ moved_to: 'x', moved_at: '2030', lineage, serial, workspace_id: 'W1' });
    await lease.release();
    expect(await elsewhere('refs/voxform/new')).toBeUndefined();
  });

  const lost: readonly { push: number; fault: Fault; tags?: string[] }[] = [
    { push: 0, fault: 'cut', tags: ['long'] },
    { push: 2, fault: 'cut' },
    ...[0, 1, 2, 4].map((push) => ({ push, fault: 'swallowed' as const, tags: ['long'] })),
  ];
  for (const { push, fault, tags = [] } of lost)
    it(`loses and repeats nothing if push ${push} is ${fault}`, { tags }, async () => {
      const { bare, server, machine } = await served();
      let pushes = 0;
      server.fault = (request) => {
        if (!request.startsWith('POST') || !request.endsWith('receive-pack')) return undefined;
        pushes += 1;
        return pushes === push + 1 ? fault : undefined;
      };
      await run(machine().store(), ['a', 'b']);
      expect(await resourcesOf(machine().store())).toEqual(['Agent/a', 'Agent/b']);
      expect(git(bare, 'rev-list', '--count', REF)).toBe('5');
    });

  it('retries a read if the response to ls-remote or fetch is lost', { tags: ['long'] }, async () => {
    const { server, machine } = await served();
    await run(machine().store(), ['a']);
    for (const lost of [1, 2, 3, 4]) {
      let requests = 0;
      server.fault = () => {
        requests += 1;
        return requests === lost ? 'cut' : undefined;
      };
      expect(await resourcesOf(machine().store())).toEqual(['Agent/a']);
      expect(requests).toBeGreaterThan(lost);
    }
  });

  it('grants the lock to one of several, and lets others take it over after 12 minutes without a heartbeat', {
    tags: ['long'],
  }, async () => {
    const { machine } = shared();
    const holder = await machine().store().lock(lockRequest());
    await holder.commit(emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0'), undefined);
    const { message, hint } = await failureOf(machine({ ahead: 700 }).store().lock(lockRequest()));
    expect(message).toMatch(/^the state refs\/voxform\/test of origin is locked by ann@here/);
    expect(hint).toContain('after 12 min without a heartbeat');
    const early = await failureOf(machine({ ahead: 100 }).store().lock(lockRequest()));
    expect(early.hint).toMatch(/ in 11 min /);
    const notices: string[] = [];
    const next = await machine({ ahead: 740 })
      .store()
      .lock(lockRequest({ notice: (text) => notices.push(text) }));
    expect(notices.join()).toContain('a run without a heartbeat for 13 min');
    const late = { lineage: 'L1', serial: 0, sequence: 1, at: '2030-01-01T00:00:00Z', event: saved('late') };
    expect(await failureOf(holder.append(late))).toBeInstanceOf(LostLock);
    await next.release();
  });

  it('returns earlier documents, newest first', { tags: ['long'] }, async () => {
    const { machine } = shared();
    const here = machine();
    for (const name of ['a', 'b', 'c']) await run(here.store(), [name]);
    const backups = await machine().store().backups();
    expect(backups.map(({ resources, isCurrent }) => [resources.size, isCurrent])).toEqual([
      [3, true],
      [2, false],
      [1, false],
      [0, false],
    ]);
    expect(backups[1]?.source).toMatch(/^refs\/voxform\/test of origin at [0-9a-f]{10}$/);
  });

  it('writes no more in a long run than in a short one, in journal files that continue', {
    tags: ['long'],
  }, async () => {
    const { bare, machine } = shared();
    const session = await openSession(machine().store(), recorded());
    const names = Array.from({ length: 8 }, (_, index) => `${index}-${'x'.repeat(90_000)}`);
    for (const name of names) await session.record(creating(name));
    const files = git(bare, 'ls-tree', '-l', REF)
      .split('\n')
      .filter((line) => line.includes('journal'))
      .map((line) => Number(line.split(/\s+/)[3]));
    expect(files.length).toBeGreaterThan(2);
    expect(Math.max(...files)).toBeLessThan(450_000);
    expect((await readState(machine().store(), sessionOptions())).pending.size).toBe(8);
    await session.close();
    expect(git(bare, 'ls-tree', '--name-only', REF)).toBe('history.jsonl\nstate.json');
  });

  it('works if the objects of this machine are damaged or removed', { tags: ['long'] }, async () => {
    const { machine } = shared();
    const here = machine();
    const states = path.join(here.cache, 'states');
    const each = (break_: (repository: string) => void): void => {
      for (const name of readdirSync(states)) break_(path.join(states, name));
    };
    await run(here.store(), ['a']);
    each((repository) => rmSync(repository, { recursive: true }));
    expect(await resourcesOf(here.store())).toEqual(['Agent/a']);
    await run(machine().store(), ['z']);
    each((repository) => leaveFile(path.join(repository, 'shallow.lock')));
    expect(await resourcesOf(here.store())).toEqual(['Agent/a', 'Agent/z']);
    each((repository) => writeFileSync(path.join(repository, 'HEAD'), 'x'));
    expect(await resourcesOf(here.store())).toEqual(['Agent/a', 'Agent/z']);
    const session = await openSession(here.store(), recorded());
    each((repository) => {
      const objects = path.join(repository, 'objects');
      for (const file of readdirSync(objects, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        chmodSync(path.join(file.parentPath, file.name), 0o600);
        writeFileSync(path.join(file.parentPath, file.name), 'x');
      }
    });
    await session.record(saved('b'));
    await session.close();
    expect(await resourcesOf(machine().store())).toEqual(['Agent/a', 'Agent/b', 'Agent/z']);
    expect(await here.store().history()).toHaveLength(3);
  });

  it('shares the objects of a machine with its other runs, which start at once', { tags: ['long'] }, async () => {
    const { machine } = shared();
    const refs = ['a', 'b'].map((name) => `refs/voxform/${name}`);
    const [one, other] = [machine(), machine()];
    await Promise.all(refs.map((ref) => run(one.store({ ref }), [ref])));
    const read = await Promise.all([...refs, ...refs].map((ref) => resourcesOf(other.store({ ref }))));
    expect(read).toEqual([...refs, ...refs].map((ref) => [`Agent/${ref}`]));
  });

  it('works from a shallow clone, with a server that accepts only fast-forwards, and in a branch', {
    tags: ['long'],
  }, async () => {
    const { bare, machine } = shared();
    git(bare, 'config', 'receive.denyNonFastForwards', 'true');
    const source = scratch();
    newRepository(path.join(source, 'a'), path.join(source, 'a.git'));
    git(path.join(source, 'a'), 'commit', '--quiet', '--allow-empty', '-m', 'two');
    const here = machine({ settings: { ref: 'refs/heads/voxform/{workspace}' } });
    rmSync(here.root, { recursive: true });
    execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${source}/a`, here.root]);
    git(here.root, 'remote', 'set-url', 'origin', bare);
    expect(git(here.root, 'rev-parse', '--is-shallow-repository')).toBe('true');
    for (const name of ['a', 'b']) await run(here.store(), [name]);
    expect(await resourcesOf(here.store())).toEqual(['Agent/a', 'Agent/b']);
    expect(git(bare, 'log', '-1', '--format=%b', 'refs/heads/voxform/test')).toContain('[skip ci]');
    expect(git(here.root, 'branch', '--all')).not.toContain('voxform');
  });

  it('works with a SHA-256 repository', { tags: ['long'] }, async () => {
    const folder = scratch();
    const bare = path.join(folder, 'new.git');
    execFileSync('git', ['init', '--quiet', '--bare', '--object-format=sha256', bare]);
    // An empty repository does not report its object format.
    const id = git(bare, 'commit-tree', '-m', 'x', git(bare, 'write-tree'));
    git(bare, 'update-ref', git(bare, 'symbolic-ref', 'HEAD'), id);
    const machine = () => new Machine({ origin: bare });
    await run(machine().store(), ['a']);
    expect(await resourcesOf(machine().store())).toEqual(['Agent/a']);
  });
});
