import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerClient, ContainerSASPermissions } from '@azure/storage-blob';
import { describe, expect, it, onTestFinished } from 'vitest';
import { azure } from '../../../../src/state/backends/azure/azure-backend.ts';
import type { StoreUser } from '../../../../src/state/backends/backend.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import { createStore } from '../../../../src/state/state-location.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { Secret } from '../../../../src/values/value.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { expectSiblingFound } from '../siblings.ts';
import { azuriteContainer, hasAzurite } from './azurite.ts';

interface Scene {
  readonly root: string;
  readonly user: StoreUser;
  readonly container: ContainerClient;
  /** The status and the path of each request. */
  readonly requests: string[];
  store(settings?: object, source?: string): StateStore;
}

async function scene(): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'voxform-azure-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const settings = await azuriteContainer();
  const requests: string[] = [];
  const user: StoreUser = {
    root,
    host: 'here',
    user: 'ann',
    pid: 7,
    version: '0.0.0',
    now: () => new Date(),
    debug: (line) => requests.push(line.replace(/^state: (\w+) .*\/(\S+ \d+)$/, '$1 $2')),
  };
  return {
    root,
    user,
    container: new ContainerClient(settings.connection_string.reveal(), settings.container),
    requests,
    store: (more, source) => {
      const owner = { workspace: 'staging', root, source };
      return createStore({ backend: 'azure', ...azure.locate({ ...settings, ...more }, owner) }, user);
    },
  };
}

const recorded = () => sessionOptions({ lock: lockRequest({ isStep: false, timeoutSeconds: 60 }) });

async function runIn(store: StateStore, name = 'a'): Promise<void> {
  const session = await openSession(store, recorded());
  await session.record(creating(name));
  await session.record(saved(name));
  await session.close();
}

async function namesIn(store: StateStore): Promise<string[]> {
  return [...(await readState(store, recorded())).resources.keys()].toSorted();
}

const title = hasAzurite ? 'a state in Azure' : 'a state in Azure (skipped: there is no azurite-blob)';
describe.skipIf(!hasAzurite)(title, () => {
  it('lets one of many runs write, and reads complete states', { tags: ['long'] }, async () => {
    const { store } = await scene();
    const names = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(names.map((name) => runIn(store(), name)));
    expect(await namesIn(store())).toEqual(names.map((name) => `Agent/${name}`));
    expect(await store().history()).toHaveLength(5);
    expect((await store().backups()).length).toBeGreaterThan(1);
    expect(await store().holder()).toBeUndefined();
  });

  it('finds the state of its workspace under another name', { tags: ['long'] }, async () => {
    const settings = await azuriteContainer();
    const { root, user } = await scene();
    const storeOf = (workspace: string) =>
      createStore({ backend: 'azure', ...azure.locate(settings, { workspace, root }) }, user);
    await expectSiblingFound(storeOf, `azure://${settings.container}/states/staging`);
  });

  it('uses one request for an entry, and two for a document', async () => {
    const { store, requests } = await scene();
    await runIn(store());
    const session = await openSession(store(), recorded());
    requests.length = 0;
    await session.record(creating('b'));
    expect(requests).toEqual(['PUT head.json 201']);
    await session.record(saved('b'));
    requests.length = 0;
    await session.close();
    expect(requests).toEqual([expect.stringMatching(/^PUT .*\.state 201$/), 'PUT head.json 201']);
  });

  it('accepts a shared access signature', async () => {
    const { store, container } = await scene();
    const permissions = ContainerSASPermissions.parse('rwdlc');
    const signed = new URL(
      await container.generateSasUrl({ permissions, expiresOn: new Date(Date.now() + 3_600_000) }),
    );
    const settings = {
      connection_string: undefined,
      endpoint: `${signed.origin}/voices`,
      sas_token: new Secret('STATE_SAS', signed.search),
    };
    await runIn(store(settings));
    expect(await namesIn(store(settings, 'https://git.example.com/a.git'))).toEqual(['Agent/a']);
    const readOnly = new URL(
      await container.generateSasUrl({
        permissions: ContainerSASPermissions.parse('rl'),
        expiresOn: new Date(Date.now() + 3_600_000),
      }),
    );
    const sas_token = new Secret('STATE_SAS', readOnly.search);
    const { message, hint } = await failureOf(runIn(store({ ...settings, sas_token }), 'b'));
    expect(message).toContain('no permission');
    expect(hint).toContain('Storage Blob Data Contributor');
    expect(message + hint).not.toContain('sig=');
  });

  it.each([
    ['a missing container', { container: 'another' }, /the container another .* does not exist/],
    [
      'a wrong key',
      (text: string) => text.replace(/AccountKey=[^;]+/, 'AccountKey=d3Jvbmc='),
      /rejected the credentials|no permission/,
    ],
    ['no connection string', () => 'nothing', /STATE_CONNECTION is not a connection string/],
    ['no account', { connection_string: undefined }, /state.account is not set/],
    ['an unset secret', { connection_string: new Secret('C', undefined) }, /needs C/],
  ])('reports one error for %s', async (_, given, expected) => {
    const { store } = await scene();
    const connection = (await azuriteContainer()).connection_string.reveal();
    const settings =
      typeof given === 'function' ? { connection_string: new Secret('STATE_CONNECTION', given(connection)) } : given;
    const error = await failureOf(runIn(store(settings)));
    expect(error.message).toMatch(expected);
    expect(error.hint).toBeDefined();
  });

  it('gives a fetched project no credentials of the machine', async () => {
    const { store, requests } = await scene();
    const settings = { connection_string: undefined, account: 'voices' };
    const error = await failureOf(store(settings, 'https://git.example.com/a.git').read());
    expect(error.message).toContain('needs its own credentials');
    expect(requests).toEqual([]);
  });
});
